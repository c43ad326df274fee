import type { JsonObject } from '../../tool/json.js'

/** A tool call of a plan, and its result. */
export type Result = {
  readonly tool: string
  readonly args: JsonObject
  readonly text: string
  readonly failed: boolean
}

/** The next step of a plan: one more call, or its final text. */
export type Step = CallStep | WordsStep
export type CallStep = {
  readonly tool: string
  readonly args: JsonObject /** Said along with the call. */
  readonly say: string
}
export type WordsStep = {
  readonly words: string /** Whether what was asked for has been done. */
  readonly done: boolean
}

/** Returns the next step from the results so far. A plan has no state except the history of the conversation. */
export type Plan = (results: readonly Result[]) => Step

/** One kind of request. */
export type Kind = {
  /** Examples for the help text. */
  readonly examples: readonly string[]
  /** Returns the plan for a sentence, or undefined when it is not a request of this kind. */
  understand(sentence: string): Plan | undefined
}

export function call(tool: string, args: JsonObject, say: string): CallStep {
  return { tool, args, say }
}

export function done(words: string): WordsStep {
  return { words, done: true }
}

export function undone(words: string): WordsStep {
  return { words, done: false }
}

/** Returns the text for a call that failed. A denial is reported as one, and is final. */
export function failureOf({ tool, text }: Result, doing: string): WordsStep {
  const why = text.replace(/^Error:\s*/, '').trim()
  const refused = /refus|denied|deny|not allowed|not permitted|permission|approv|reject/i.test(why)
  const what = refused ? `was denied the use of "${tool}"` : `got an error from "${tool}"`
  return undone(`I ${what} while ${doing}:\n\n${indented(why)}`)
}

/** Indents text as a separate block. */
export function indented(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (line === '' ? '' : `    ${line}`))
    .join('\n')
}

/** Returns the first lines, or with `tail` the last, and the number of omitted lines. */
export function excerpt(text: string, most: number, tail = false): string {
  const lines = text.trimEnd().split('\n')
  if (lines.length <= most) return lines.join('\n')
  const left = `… ${lines.length - most} more lines`
  return tail ? [left, ...lines.slice(-most)].join('\n') : [...lines.slice(0, most), left].join('\n')
}
