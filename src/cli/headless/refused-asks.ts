import { formatRule } from '../../authority/rule.js'
import type { AskAnswer, AskRequest } from '../../loop/ask.js'
import { safeJson, safeLine, safeText } from '../terminal/safe-text.js'

/** A call that needed an approval when no user could be asked. */
export type RefusedCall = {
  readonly toolName: string
  readonly args: unknown
  readonly reasons: readonly string[]
  /** The rules that would have allowed it; empty when no rule can. */
  readonly rules: readonly string[]
  /** A risk of adding these rules. */
  readonly caution?: string | undefined
  /** What to do when no rule can allow it. */
  readonly instead?: string
}

/** Rejects every call that needs an approval, and records it for the report. */
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
      message: `Refused: ${reasons.join('; ')}. No user can be asked. Continue without it, and report what could not be done${allowHint(remedy)}.`,
    }
  }

  /** Describes the rejected calls, with the options that would allow them. Skips the first `from` calls. */
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
        ? ['To allow them, add:', ...flags.slice(0, maxShown).map((flag) => `  ${flag}`)]
        : []),
    ].join('\n')
  }
}

const maxShown = 20

/** Drops rules with characters that a terminal cannot show, because the escaped text would be a different rule. */
function printable(remedy: Remedy): Remedy {
  if ('instead' in remedy || remedy.rules.every((rule) => safeText(rule) === rule)) return remedy
  return { instead: 'it has characters that a terminal cannot show; approve it in a terminal' }
}

function allowHint(remedy: Remedy): string {
  return 'rules' in remedy
    ? ` (the user can allow it: ${remedy.rules.map((rule) => flagFor(rule)).join(' ')})`
    : ''
}

function described({ toolName, args, reasons, instead }: RefusedCall): string {
  const way = instead === undefined ? '' : `; ${instead}`
  return `${toolName} ${safeLine(safeJson(args), 300)} (${safeLine(reasons.join('; '), 300)}${safeLine(way, 300)})`
}

/** Formats an option. The caution is a shell comment, so that the whole line can be copied. */
function flagFor(rule: string, caution?: string): string {
  return `--allow ${quoted(rule)}${caution === undefined ? '' : `  # ${safeLine(caution)}`}`
}

/** Quotes a word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** How a user can allow a rejected call next time: with rules that were tested against the call, or in another way. */
type Remedy =
  /** `caution`: a risk of adding these rules. */
  { readonly rules: readonly string[]; readonly caution?: string | undefined } | { readonly instead: string }

/** The rules for `--allow` that would allow a call. */
function remedyFor({ advice, rules }: AskRequest): Remedy {
  if (advice !== undefined && 'rules' in advice) return { rules: advice.text, caution: advice.caution }
  if (rules.length > 0)
    return { instead: `--allow cannot override the rule ${rules.map(formatRule).join(', ')}; ${inTerminal}` }
  if (advice?.doubt !== undefined)
    return {
      instead: `--allow cannot cover it, because ${advice.doubt}; put it into a script (./build.sh) and allow the script, or ${inTerminal}`,
    }
  return { instead: inTerminal }
}

const inTerminal = 'approve it in a terminal'
