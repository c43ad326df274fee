import { parsePolicyString } from '../../authority/policy.js'
import { formatRule, type Rule } from '../../authority/rule.js'
import { type Action, actions } from '../../authority/verdict.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
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
      'Usage: capstan rules add allow|ask|deny RULE',
      `Example: capstan rules add allow 'bash(npm test)'`,
    )
  const reason = args.value('reason')
  const rule: Rule = {
    ...parsePolicyString(text),
    action,
    source: 'project',
    added_at: Date.now(),
    ...omitUndefined({ reason }),
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

/** Removes rules from the user's own rules for a directory. The rules of a project are edited in its own file. */
export async function removeRule(args: Args, io: Io): Promise<number> {
  const [first, second, ...rest] = args.positionals
  const [action, text] = isAction(first) && second !== undefined ? [first, second] : [undefined, first]
  if (text === undefined || (action === undefined && second !== undefined) || rest.length > 0)
    throw new UsageError(
      'Usage: capstan rules remove [allow|ask|deny] RULE',
      '"capstan rules list" lists the rules.',
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
      `No such rule in ${files.userFile}: ${text}`,
      '"capstan rules list" lists the rules. Rules of a session end with it; rules of the project are in the file of the project.',
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
