import { formatRule } from '../../authority/rule.js'
import type { AskRequest } from '../../loop/ask.js'

/** How a user can allow a refused call next time: with rules that were tested against the call, or in another way. */
export type Remedy =
  /** `caution`: a risk of adding these rules. */
  { readonly rules: readonly string[]; readonly caution?: string | undefined } | { readonly instead: string }

/** The rules for `--allow` that would allow a call. */
export function remedyFor({ advice, rules }: AskRequest): Remedy {
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
