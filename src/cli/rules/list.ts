import { defaultRules } from '../../authority/default-rules.js'
import { compilePolicy, type PermissionPolicy } from '../../authority/policy.js'
import { formatRule, type Rule } from '../../authority/rule.js'
import { isRecord } from '../../tool/json.js'
import type { Args } from '../args.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { findSession, loadSession, openSessionStore } from '../sessions/open-session-store.js'
import { colorsFor } from '../terminal/colors.js'
import { safeJson, safeLine } from '../terminal/safe-text.js'
import { timeText } from '../terminal/time-text.js'
import { openRulePlace, type RulePlace } from './rule-place.js'

/** Rules of one origin. */
type Section = {
  readonly scope: 'session' | 'user' | 'project' | 'built-in'
  readonly title: string
  /** Where they are stored; undefined for rules that are not in a file. */
  readonly file?: string
  readonly note?: string | undefined
  readonly rules: readonly Rule[]
}

/** Lists the rules that apply in a directory, each with its origin and the file that it is stored in. */
export async function listRules(args: Args, io: Io): Promise<number> {
  const place = await openRulePlace(args, io)
  const sections = [...(await sessionSections(args, io)), ...(await fileSections(place)), builtIn]
  if (args.has('json')) {
    const lines = sections.flatMap(({ scope, file, rules }) =>
      rules.map((rule) => `${safeJson(ruleJson(rule, scope, file))}\n`),
    )
    await write(io.stdout, lines.join(''))
    return exitCodes.done
  }
  const { bold, dim, yellow } = colorsFor(io, 'stdout')
  for (const { title, file, note, rules } of sections) {
    const stored = file === undefined ? '' : dim(` (${safeLine(file, 400)})`)
    await write(io.stdout, `${bold(title)}${stored}\n`)
    if (note !== undefined) await write(io.stdout, `  ${yellow(note)}\n`)
    if (rules.length === 0) await write(io.stdout, `  ${dim('none')}\n`)
    for (const rule of rules) await write(io.stdout, `  ${ruleText(rule, dim)}\n`)
    if (rules.some(({ callOnly }) => callOnly === true)) await write(io.stdout, `  ${dim(callOnlyNote)}\n`)
    await write(io.stdout, '\n')
  }
  return exitCodes.done
}

function ruleJson(rule: Rule, scope: Section['scope'], file: string | undefined): object {
  const { action, reason, added_at, pinned, untrusted, callOnly } = rule
  const isUnconfirmed = untrusted === true
  return {
    scope,
    action,
    rule: formatRule(rule),
    file,
    reason,
    added_at,
    pinned: pinned || undefined,
    callOnly: callOnly || undefined,
    confirmed: isUnconfirmed ? false : undefined,
    applies: isUnconfirmed ? action !== 'allow' : undefined,
  }
}

function ruleText(rule: Rule, dim: (text: string) => string): string {
  const { action, reason, added_at, untrusted, callOnly } = rule
  const notes = [
    ...(reason === undefined ? [] : [safeLine(reason, 200)]),
    ...(added_at === undefined ? [] : [`added ${timeText(added_at)} UTC`]),
    ...(untrusted === true && action === 'allow' ? ['not confirmed: has no effect'] : []),
  ]
  const text = `${action.padEnd(5)} ${safeLine(formatRule(rule), 1_000)}${callOnly === true ? ' *' : ''}`
  return notes.length === 0 ? text : `${text}  ${dim(notes.join('; '))}`
}

/** A note that all marked rules of a section share, so that the list stays short. */
const callOnlyNote = '* only the call itself: its files, hosts and commands need their own rules'

const builtIn: Section = { scope: 'built-in', title: 'Built-in rules', rules: defaultRules }

async function fileSections({ files, scope }: RulePlace): Promise<Section[]> {
  const { rules, workspace } = await files.load(scope)
  const theirs = workspace?.rules ?? []
  const own: Section = {
    scope: 'user',
    title: 'Your rules for this directory, with your "always" answers',
    file: files.userFile,
    rules: rules.slice(theirs.length),
  }
  const project: Section = {
    scope: 'project',
    title: 'Rules of the project, which came with the directory',
    file: files.workspaceFile,
    rules: theirs,
    note:
      workspace?.confirmed === false
        ? 'not confirmed: its "allow" rules have no effect. Read the file, then run: capstan rules confirm'
        : undefined,
  }
  return [own, project]
}

/** The rules of the command line and of a stored session. */
async function sessionSections(args: Args, io: Io): Promise<Section[]> {
  const [allow, deny, ask] = [args.values('allow'), args.values('deny'), args.values('ask')]
  const flags: Section[] =
    allow.length + deny.length + ask.length === 0
      ? []
      : [
          {
            scope: 'session',
            title: 'Rules of the command line',
            rules: compilePolicy({ allow, deny, ask }).rules,
          },
        ]
  const given = args.value('session')
  if (given === undefined) return flags
  const { store } = await openSessionStore(args, io)
  try {
    const id = await findSession(store, given)
    const { session } = await loadSession(store, id)
    const policy = session?.options?.['permissionPolicy']
    const stated = isRecord(policy) ? compilePolicy(policy as PermissionPolicy).rules : []
    const title = `Rules of the session ${safeLine(id, 100)}, with your "in this session" answers`
    return [...flags, { scope: 'session', title, rules: [...stated, ...(session?.rules ?? [])] }]
  } finally {
    await store.close?.()
  }
}
