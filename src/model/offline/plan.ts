import type { JsonObject } from '../../tool/json.js'

/** A tool call that was made for a plan, and what came of it. */
export type Result = {
  readonly tool: string
  readonly args: JsonObject
  readonly text: string
  readonly failed: boolean
}

/** What a plan does next: one more call, or its last words. */
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

/** Tells the next step from the results so far. A plan keeps no state: the history of the conversation is all there is. */
export type Plan = (results: readonly Result[]) => Step

/** One kind of request. */
export type Kind = {
  /** Shown to those who ask for help. */
  readonly examples: readonly string[]
  /** The plan for a sentence, or undefined when it is no request of this kind. */
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

/** The words for a call that gave no result. A refusal is told as what it is, and is final. */
export function failureOf({ tool, text }: Result, doing: string): WordsStep {
  const why = text.replace(/^Error:\s*/, '').trim()
  const refused = /refus|denied|deny|not allowed|not permitted|permission|approv|reject/i.test(why)
  const what = refused ? `was refused the use of "${tool}"` : `got an error from "${tool}"`
  return undone(`I ${what} while ${doing}:\n\n${indented(why)}`)
}

/** Text as a block that stands apart from the words around it. */
export function indented(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (line === '' ? '' : `    ${line}`))
    .join('\n')
}

/** The first lines, or with `tail` the last, and how many were left out. */
export function excerpt(text: string, most: number, tail = false): string {
  const lines = text.trimEnd().split('\n')
  if (lines.length <= most) return lines.join('\n')
  const left = `… ${lines.length - most} more lines`
  return tail ? [left, ...lines.slice(-most)].join('\n') : [...lines.slice(0, most), left].join('\n')
}
