import { nearestNames, quoteNames } from '../../tool/nearest.js'
import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import type { Io } from '../io.js'
import { permissionFlags, placeFlags, storeFlag } from '../setup/session-flags.js'

const actions = {
  list: 'the rules that apply here, and the file each is stored in; --session ID: also those of a session',
  add: 'add a rule for this directory: add allow|ask|deny RULE',
  remove: 'remove your rules for this directory: remove RULE, or remove allow|ask|deny RULE',
  test: 'why a call would be allowed, asked about or denied; nothing is run',
  confirm: 'read and confirm .capstan/rules and .mcp.json, which came with this directory',
} as const

type Action = (args: Args, io: Io) => Promise<number>

const load: Readonly<Record<keyof typeof actions, () => Promise<Action>>> = {
  list: async () => (await import('../rules/list.js')).listRules,
  add: async () => (await import('../rules/change.js')).addRule,
  remove: async () => (await import('../rules/change.js')).removeRule,
  test: async () => (await import('../tools/explain-command.js')).explainCommand,
  confirm: async () => (await import('../rules/confirm.js')).confirmFiles,
}

export const command: Command = {
  usage: [
    '[list] [--session ID]',
    'add allow|ask|deny RULE [--reason TEXT]',
    'remove [allow|ask|deny] RULE',
    'test TOOL [JSON | name=value …]',
    'confirm [rules|mcp] [--yes]',
  ],
  about: `A rule is a tool or capability with a pattern: bash(npm test), write(docs/**), fs.read, mcp__github. Your own rules for a directory are
stored outside of it, in your Capstan directory; the answer "always" in a question adds to the same file. A rule file that came with the
directory can only ask and deny until you confirm it, and a .mcp.json starts nothing until then.

"test" ends with 0 when the call would be allowed, with 3 when you would be asked, with 1 when it is denied.`,
  actions,
  options: [
    { name: 'json', summary: 'as JSON, one object a line' },
    { name: 'session', short: 's', value: 'id', summary: 'list: also the rules of this session' },
    { name: 'reason', value: 'text', summary: 'add: why; shown when the rule decides' },
    { name: 'yes', short: 'y', summary: 'confirm: do not ask, I have read the files' },
    ...permissionFlags,
    storeFlag,
    ...placeFlags,
  ],
  examples: [
    { line: 'capstan rules', says: 'what applies here, and where it is stored' },
    { line: `capstan rules add allow 'bash(npm test)'`, says: 'run the tests without being asked' },
    { line: `capstan rules remove 'bash(npm test)'`, says: 'be asked again' },
    { line: `capstan rules test bash 'command=rm -rf build'`, says: 'what the rules say of a call' },
    { line: 'capstan rules confirm', says: 'use the rules and MCP servers that came with this directory' },
  ],
  async run(args, io) {
    const [named = 'list'] = args.positionals
    if (!isAction(named)) {
      const near = nearestNames(named, Object.keys(actions))
      throw new UsageError(
        `There is no action ${JSON.stringify(named)}.`,
        near.length > 0
          ? `Did you mean ${quoteNames(near)}?`
          : `There are: ${Object.keys(actions).join(', ')}.`,
      )
    }
    const action = await load[named]()
    return action(args.after(1), io)
  },
}

function isAction(name: string): name is keyof typeof actions {
  return Object.hasOwn(actions, name)
}
