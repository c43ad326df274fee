/** How questions reach the user: in a terminal, or line by line. */
export type Asking = {
  /** Whether `choose` prints the question so that it stays above the answer. Otherwise the caller prints a record of it. */
  readonly leavesQuestion: boolean
  print(lines: readonly string[]): void | Promise<void>
  /** Resolves with the index of the choice; undefined when the user chose nothing, or the question was withdrawn. */
  choose(question: ChoiceQuestion): Promise<number | undefined>
  askLine(question: LineQuestion): Promise<string | undefined>
}

/** One of several choices, by its key. */
export type Choice = { readonly key: string; readonly label: string }

type QuestionOptions = {
  /** The question itself: it names what is decided, so that it can be read without the lines above it. */
  readonly title: string
  /** Aborted when the question is withdrawn: it disappears without an answer. */
  readonly signal?: AbortSignal | undefined
  /** The user's last key asked for this question, so the next key may answer it at once. */
  readonly direct?: boolean | undefined
}

export type ChoiceQuestion = QuestionOptions & {
  readonly choices: readonly Choice[]
  /** What the decision is about, in at most `rows` lines of `columns` columns. */
  about?(columns: number, rows: number): readonly string[]
  /** The same with nothing left out, for a pager. */
  whole?(columns: number): readonly string[]
}

export type LineQuestion = QuestionOptions

/** The key that shows all of what a question is about. */
export const viewChoice: Choice = { key: 'v', label: 'view all of it' }
