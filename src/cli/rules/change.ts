import { parsePolicyString } from '../../authority/policy.js'
import { formatRule, type Rule } from '../../authority/rule.js'
import { type Action, actions } from '../../authority/verdict.js'
import type { Args } from '../args.js'
import { CommandLineError, UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { safeJson, safeLine } from '../terminal/safe-text.js'
import { openRulePlace } from './rule-place.js'

/** Adds a rule to the user's own rules for a directory. */
export async function addRule(args: Args, io: Io): Promise<number> {
  const [action, text, ...rest] = args.positionals
  if (!isAction(action) || text === undefined || rest.length > 0)
    throw new UsageError(
      'A rule is added as: capstan rules add allow|ask|deny RULE.',
      `For example: capstan rules add allow 'bash(npm test)'`,
    )
  const reason = args.value('reason')
  const rule: Rule = {
    ...parsePolicyString(text),
    action,
    source: 'project',
    added_at: Date.now(),
    ...(reason !== undefined && { reason }),
  }
  const { files, scope, root } = await openRulePlace(args, io)
  await files.add(rule, scope)
  await write(
    io.stdout,
    args.has('json')
      ? `${safeJson({ added: { action, rule: formatRule(rule) }, file: files.userFile })}\n`
      : `Added for ${safeLine(root, 400)}: ${action} ${safeLine(formatRule(rule), 1_000)}\nStored in ${safeLine(files.userFile, 400)}\n`,
  )
  return exitCodes.done
}

/** Removes rules from the user's own rules for a directory. Those of the project are edited where they are. */
export async function removeRule(args: Args, io: Io): Promise<number> {
  const [first, second, ...rest] = args.positionals
  const [action, text] = isAction(first) && second !== undefined ? [first, second] : [undefined, first]
  if (text === undefined || (action === undefined && second !== undefined) || rest.length > 0)
    throw new UsageError(
      'A rule is removed as: capstan rules remove [allow|ask|deny] RULE.',
      '"capstan rules list" has them.',
    )
  const { permission, pattern } = parsePolicyString(text)
  const { files, scope } = await openRulePlace(args, io)
  const removed = await files.remove(
    (rule) =>
      rule.permission === permission &&
      rule.pattern === pattern &&
      (action === undefined || rule.action === action),
    scope,
  )
  if (removed.length === 0)
    throw new CommandLineError(
      `${files.userFile} has no such rule: ${text}.`,
      '"capstan rules list" has them. Rules of a session end with it; rules of the project are in its own file.',
    )
  await write(
    io.stdout,
    args.has('json')
      ? `${safeJson({ removed: removed.map((rule) => ({ action: rule.action, rule: formatRule(rule) })), file: files.userFile })}\n`
      : removed.map((rule) => `Removed: ${rule.action} ${safeLine(formatRule(rule), 1_000)}\n`).join(''),
  )
  return exitCodes.done
}

function isAction(word: string | undefined): word is Action {
  return (actions as readonly (string | undefined)[]).includes(word)
}
