import type { JsonObject } from '../../tool/json.js'

/** A tool call of a plan, and its result. */
export type Result = {
  readonly tool: string
  readonly args: JsonObject
  readonly text: string
  readonly failed: boolean
}

/** The next step of a plan: one more call with an announcement, or the final text. */
export type Step = CallStep | WordsStep
export type CallStep = { readonly tool: string; readonly args: JsonObject; readonly say: string }
/** `done` is false when the request could not be fulfilled. */
export type WordsStep = { readonly words: string; readonly done: boolean }

/** Returns the next step from the results so far. A plan has no state except the history of the conversation. */
export type Plan = (results: readonly Result[]) => Step

export function call(tool: string, args: JsonObject, say: string): CallStep {
  return { tool, args, say }
}

export function done(words: string): WordsStep {
  return { words, done: true }
}

export function undone(words: string): WordsStep {
  return { words, done: false }
}

/** Creates a plan with one call. `doing` describes the call in the text for its failure. */
export function once(step: CallStep, doing: string, report: (text: string) => WordsStep): Plan {
  return ([result]) => {
    if (result === undefined) return step
    return result.failed ? failureOf(result, doing) : report(result.text)
  }
}

/** Returns the text for a call that failed. A denial is reported as one, and is final. */
export function failureOf({ tool, text }: Result, doing: string): WordsStep {
  const why = text.replace(/^Error:\s*/, '').trim()
  const refused = /refus|denied|deny|not allowed|not permitted|permission|approv|reject/i.test(why)
  const what = refused ? `was denied the use of "${tool}"` : `got an error from "${tool}"`
  return undone(`I ${what} while ${doing}:\n\n${block(why, Number.POSITIVE_INFINITY)}`)
}

/** Indents the first lines of a text, or with `tail` the last, and counts the omitted ones. */
export function block(text: string, maxLines: number, tail = false): string {
  const lines = text.trimEnd().split('\n')
  const more = `… ${lines.length - maxLines} more lines`
  if (lines.length > maxLines && tail) lines.splice(0, lines.length - maxLines, more)
  else if (lines.length > maxLines) lines.splice(maxLines, lines.length, more)
  return lines.map((line) => (line === '' ? '' : `    ${line}`)).join('\n')
}

/** Returns the paths in the result of a file search: one per line, up to the blank line before the summary. */
export function filesIn(text: string): string[] {
  if (/^No (?:files|matches) found/.test(text)) return []
  const [list = ''] = text.split('\n\n', 1)
  return list.split('\n').filter((line) => line !== '')
}
