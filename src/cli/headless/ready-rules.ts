import { homedir } from 'node:os'
import { literalPath, suggestRule } from '../../authority/approval-key.js'
import { type ExpandedCall, expandCall, type JudgedSubject, quoteArgv } from '../../authority/call.js'
import { defaultRules } from '../../authority/default-rules.js'
import { judge } from '../../authority/judge.js'
import { relativeTo } from '../../authority/lexical-path.js'
import { compilePolicy } from '../../authority/policy.js'
import { formatRule } from '../../authority/rule.js'
import { createRuleBook } from '../../authority/rule-book.js'
import type { AskRequest } from '../../loop/ask.js'
import { CapstanError } from '../../tool/errors.js'

/** What somebody can do so that a refused call passes the next time: rules that were tried, or words about what to do instead. */
export type Remedy =
  /** `caution`: why nobody should add them without a thought. */
  { readonly rules: readonly string[]; readonly caution?: string } | { readonly instead: string }

/**
 * The rules for `--allow` that let a call pass. Whoever writes rules into a command line sees what they write: so there are rules here for
 * what a single key should not agree to for good, such as a file that a command writes, or a command that can run anything.
 */
export function remedyFor(request: AskRequest, root: string): Remedy {
  const { suggestion, reasons, rules } = request
  if (suggestion !== undefined && suggestion.length > 0) return { rules: suggestion.map(formatRule) }
  if (rules.length > 0)
    return { instead: `no --allow goes past the rule ${rules.map(formatRule).join(', ')}: ${inTerminal}` }
  const scope = { variables: { workspace: [root] }, home: homedir() }
  const call = expandCall({ tool: request.toolName, args: request.args, subjects: request.subjects }, scope)
  const doubt = call.subjects.flatMap((subject) => (subject.kind === 'command' ? subject.doubts : []))[0]
  if (doubt !== undefined)
    return {
      instead: `no --allow holds for it, since ${doubt}: let it be put into a program of its own (./build.sh) and allow that, or ${inTerminal}`,
    }
  // Somebody else asks: a watchdog, a hook, the tool itself.
  if (!reasons.every((reason) => reason.startsWith('no rule covers '))) return { instead: inTerminal }
  return writtenOut(call, root) ?? { instead: inTerminal }
}

const inTerminal = 'be asked in a terminal'

/** Every part of the call as a rule of its own, tried together. */
function writtenOut(call: ExpandedCall, root: string): Remedy | undefined {
  const { scope } = call
  const book = createRuleBook({ scope, rules: defaultRules })
  const judged = judge(call, book)
  const open = judged.subjects.filter(({ verdict }) => verdict.action !== 'allow')
  const rules = [...new Set(open.map(({ subject }) => ruleFor(subject, call, root)))]
  try {
    const { rules: compiled } = compilePolicy({ allow: rules.filter((rule) => rule !== undefined) })
    const tried = createRuleBook({ scope, rules: [...defaultRules, ...compiled] })
    if (rules.length === 0 || judge(call, tried).verdict.action !== 'allow') return undefined
  } catch (error) {
    // A word that no pattern can say.
    if (error instanceof CapstanError) return undefined
    throw error
  }
  const offer = suggestRule(call, judged, book)
  const isAnything = 'refused' in offer && offer.refused.endsWith('can run anything')
  return {
    rules: rules.filter((rule) => rule !== undefined),
    ...(isAnything && { caution: offer.refused }),
  }
}

function ruleFor(subject: JudgedSubject, { call }: ExpandedCall, root: string): string | undefined {
  if (subject.kind === 'command') {
    const argv = subject.unit.words.flatMap(({ value }) => (value === undefined ? [] : [value]))
    return argv.some((word) => /[*?\\]/.test(word)) ? undefined : `${call.tool}(${quoteArgv(argv)})`
  }
  // What a command names is judged by the capability, whatever the tool.
  if (subject.kind === 'path' && subject.origin !== 'tool')
    return `fs.${subject.fs}(${literalPath(relativeTo(root, subject.path.path))})`
  return undefined
}
