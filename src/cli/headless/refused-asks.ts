import { formatRule } from '../../authority/rule.js'
import type { AskAnswer, AskRequest } from '../../loop/ask.js'
import { safeJson, safeLine } from '../terminal/safe-text.js'

/** A call that needed a person, when there was none. */
export type RefusedCall = {
  readonly toolName: string
  readonly args: unknown
  readonly reasons: readonly string[]
  /** The rules that would have let it pass; none when no rule can. */
  readonly rules: readonly string[]
}

/** Says no to everything that must be asked about, and remembers it for the report. */
export class RefusedAsks {
  readonly calls: RefusedCall[] = []

  readonly ask = ({ toolName, args, reasons, suggestion }: AskRequest): AskAnswer => {
    const rules = (suggestion ?? []).map(formatRule)
    this.calls.push({ toolName, args, reasons, rules })
    return {
      decision: 'reject',
      message: `Refused: ${reasons.join('; ')}. Nobody is there to be asked. Go on without it, and say what could not be done.`,
    }
  }

  /** What was refused, for people, with what to add to the command so that it passes; `from` leaves out so many. */
  report(from = 0): string {
    const calls = this.calls.slice(from)
    if (calls.length === 0) return ''
    const count = calls.length === 1 ? '1 call was' : `${calls.length} calls were`
    const rules = [...new Set(calls.flatMap((call) => call.rules))]
    return [
      `${count} refused, since nobody was there to be asked:`,
      ...calls.slice(0, mostShown).map((call) => `  ${described(call)}`),
      ...(calls.length > mostShown ? [`  … and ${calls.length - mostShown} more`] : []),
      ...(rules.length > 0
        ? [
            'allow what you agree with:',
            ...rules.slice(0, mostShown).map((rule) => `  --allow ${quoted(rule)}`),
          ]
        : []),
    ].join('\n')
  }
}

const mostShown = 20

function described({ toolName, args, reasons, rules }: RefusedCall): string {
  const noRule = rules.length === 0 ? '; no rule can allow it for good' : ''
  return `${toolName} ${safeLine(safeJson(args), 300)} (${safeLine(reasons.join('; '), 300)}${noRule})`
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
