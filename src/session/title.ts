import { SessionOptionError } from '../feature/option-error.js'

/** The maximum length of a title that a host sets. */
const maxTitleLength = 200
const maxPromptTitle = 80

/** The title of a session: set by the host, or derived from its first prompt. */
export class SessionTitle {
  #current: string | undefined
  #wasSet = false

  constructor(given: string | undefined) {
    this.#current = given === undefined ? undefined : oneLine(given).slice(0, maxTitleLength)
  }

  get current(): string | undefined {
    return this.#current
  }

  set(title: string): void {
    this.#current = title
    this.#wasSet = true
  }

  takeFrom(prompt: string): string | undefined {
    this.#current = titleFrom(prompt)
    return this.#current
  }

  /**
   * A title that was set while the session was open. It is repeated at the end of the log, because a list may not read
   * the middle.
   */
  get toRepeat(): string | undefined {
    return this.#wasSet ? this.#current : undefined
  }
}

/** Returns the first words of a prompt on one line, as a default title. Undefined for an empty prompt. */
function titleFrom(prompt: string): string | undefined {
  // Also cut before cleaning: a prompt can have megabytes.
  const line = oneLine(prompt.slice(0, 4 * maxPromptTitle))
  if (line === '') return undefined
  const characters = [...line]
  if (characters.length <= maxPromptTitle) return line
  const cut = characters.slice(0, maxPromptTitle - 1).join('')
  const end = cut.lastIndexOf(' ')
  // A text without spaces, such as Chinese or a path, is cut at the limit.
  return `${end > maxPromptTitle / 2 ? cut.slice(0, end) : cut}…`
}

/** Throws for an invalid title. */
export function checkedTitle(title: unknown): string {
  const problem = titleProblem(title)
  if (problem !== undefined) throw new SessionOptionError('title', problem.replace('%', 'title'))
  return oneLine(title as string)
}

/** Returns the problem with an invalid title; `%` is replaced by its name. */
export function titleProblem(title: unknown): string | undefined {
  if (typeof title !== 'string') return `% must be a string, not a value of type ${typeof title}.`
  return oneLine(title) === '' || title.length > maxTitleLength
    ? `% must have 1 to ${maxTitleLength} characters.`
    : undefined
}

/** Not a literal: for one with `\p`, V8 reads tables of all characters when it parses this file. */
const blank = '[\\s\\p{Cc}]+'

function oneLine(text: string): string {
  return text.replace(new RegExp(blank, 'gu'), ' ').trim()
}
