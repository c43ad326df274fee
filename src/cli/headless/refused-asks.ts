import type { AskAnswer, AskRequest } from '../../loop/ask.js'
import { safeJson, safeLine, safeText } from '../terminal/safe-text.js'
import { type Remedy, remedyFor } from './ready-rules.js'

/** A call that needed a person, when there was none. */
export type RefusedCall = {
  readonly toolName: string
  readonly args: unknown
  readonly reasons: readonly string[]
  /** The rules that would have let it pass; none when no rule can. */
  readonly rules: readonly string[]
  /** Why nobody should add these rules without a thought. */
  readonly caution?: string
  /** What to do where no rule helps. */
  readonly instead?: string
}

/** Says no to everything that must be asked about, and remembers it for the report. */
export class RefusedAsks {
  readonly calls: RefusedCall[] = []

  /** The handler for a session. */
  readonly handler = (request: AskRequest): AskAnswer => {
    const { toolName, args, reasons } = request
    const remedy = printable(remedyFor(request))
    this.calls.push({ toolName, args, reasons, rules: [], ...remedy })
    return {
      decision: 'reject',
      automatic: true,
      message: `Refused: ${reasons.join('; ')}. No user can be asked. Continue without it, and report what could not be done${wayOf(remedy)}.`,
    }
  }

  /** What was refused, for people, with what to add to the command so that it passes; `from` leaves out so many. */
  report(from = 0): string {
    const calls = this.calls.slice(from)
    if (calls.length === 0) return ''
    const count = calls.length === 1 ? '1 call was' : `${calls.length} calls were`
    const flags = [
      ...new Set(calls.flatMap(({ rules, caution }) => rules.map((rule) => flagFor(rule, caution)))),
    ]
    return [
      `${count} refused because no user could be asked:`,
      ...calls.slice(0, maxShown).map((call) => `  ${described(call)}`),
      ...(calls.length > maxShown ? [`  … and ${calls.length - maxShown} more`] : []),
      ...(flags.length > 0
        ? ['allow what you agree with:', ...flags.slice(0, maxShown).map((flag) => `  ${flag}`)]
        : []),
    ].join('\n')
  }
}

const maxShown = 20

/** A rule that has to be written out for a terminal is another one: nobody could copy it. */
function printable(remedy: Remedy): Remedy {
  if ('instead' in remedy || remedy.rules.every((rule) => safeText(rule) === rule)) return remedy
  return { instead: 'it holds signs that cannot be written here: be asked in a terminal' }
}

function wayOf(remedy: Remedy): string {
  return 'rules' in remedy
    ? ` (the user can allow it: ${remedy.rules.map((rule) => flagFor(rule)).join(' ')})`
    : ''
}

function described({ toolName, args, reasons, instead }: RefusedCall): string {
  const way = instead === undefined ? '' : `; ${instead}`
  return `${toolName} ${safeLine(safeJson(args), 300)} (${safeLine(reasons.join('; '), 300)}${safeLine(way, 300)})`
}

/** Behind a sign of the shell for what is only said, so that a line can be copied whole. */
function flagFor(rule: string, caution?: string): string {
  return `--allow ${quoted(rule)}${caution === undefined ? '' : `  # ${safeLine(caution)}`}`
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
