import { formatRule } from '../../authority/rule.js'
import type { AskRequest } from '../../loop/ask.js'

/** What a user can do so that a refused call passes the next time: rules that were tried, or what to do instead. */
export type Remedy =
  /** `caution`: why to think twice before adding them. */
  { readonly rules: readonly string[]; readonly caution?: string } | { readonly instead: string }

/** The rules for `--allow` that let a call pass. */
export function remedyFor({ advice, rules }: AskRequest): Remedy {
  if (advice !== undefined && 'rules' in advice) {
    return { rules: advice.text, ...(advice.caution !== undefined && { caution: advice.caution }) }
  }
  if (rules.length > 0)
    return { instead: `no --allow goes past the rule ${rules.map(formatRule).join(', ')}: ${inTerminal}` }
  if (advice?.doubt !== undefined)
    return {
      instead: `no --allow holds for it, since ${advice.doubt}: let it be put into a program of its own (./build.sh) and allow that, or ${inTerminal}`,
    }
  return { instead: inTerminal }
}

const inTerminal = 'be asked in a terminal'
