/** Asks the user questions: in a terminal, or line by line. */
export type Prompter = {
  /** Whether `choose` leaves the question on the screen above the answer. Otherwise the caller prints it. */
  readonly leavesQuestion: boolean
  print(lines: readonly string[]): void | Promise<void>
  /** Resolves with the index of the choice; undefined when the user chose nothing or the question was withdrawn. */
  choose(question: ChoiceQuestion): Promise<number | undefined>
  askLine(question: LineQuestion): Promise<string | undefined>
}

/** One of several choices, by its key. */
export type Choice = { readonly key: string; readonly label: string }

type QuestionOptions = {
  /** The question. It names the subject, so that it is clear without the lines above it. */
  readonly title: string
  /** Aborted when the question is withdrawn. It then disappears without an answer. */
  readonly signal?: AbortSignal | undefined
  /** The user opened this question with a key, so the next key can answer it at once. */
  readonly direct?: boolean | undefined
}

export type ChoiceQuestion = QuestionOptions & {
  readonly choices: readonly Choice[]
  /** Describes the subject of the decision, in at most `rows` lines of `columns` columns. */
  about?(columns: number, rows: number): readonly string[]
  /** The whole subject, for a pager. */
  whole?(columns: number): readonly string[]
}

export type LineQuestion = QuestionOptions

/** The choice that shows the whole subject of a question. */
export const viewChoice: Choice = { key: 'v', label: 'show everything' }
