import { runAction } from '../actions.js'
import type { Command } from '../command.js'
import { exitCodeMeanings } from '../exit-codes.js'
import { permissionFlags, placeFlags, storeFlag } from '../setup/session-flags.js'

export const command: Command = {
  usage: [
    '[list] [--session ID]',
    'add allow|ask|deny RULE [--reason TEXT]',
    'remove [allow|ask|deny] RULE',
    'test TOOL [JSON | name=value …]',
    'confirm [rules|mcp] [--yes]',
  ],
  description: `A rule is a tool or capability with a pattern: bash(npm test), write(docs/**), fs.read, mcp__github. Your rules for a directory are
stored outside of it, in your Capstan directory; the answer "always" to a question adds to the same file. A rule file that came with the
directory can only ask and deny until you confirm it, and a .mcp.json starts nothing until you confirm it.`,
  actions: {
    list: 'List the rules that apply here, and the file of each; with --session ID, also those of a session',
    add: 'Add a rule for this directory: add allow|ask|deny RULE',
    remove: 'Remove a rule of yours for this directory: remove RULE, or remove allow|ask|deny RULE',
    test: 'Explain why a call would be allowed, need approval or be denied; runs nothing',
    confirm: 'Read and confirm .capstan/rules and .mcp.json, which came with this directory',
  },
  options: [
    { name: 'json', summary: 'Print one JSON object per line' },
    { name: 'session', short: 's', value: 'id', summary: 'list: Show the rules of this session, too' },
    { name: 'reason', value: 'text', summary: 'add: Reason that is shown when the rule decides' },
    { name: 'yes', short: 'y', summary: 'confirm: Confirm without a question: I have read the files' },
    ...permissionFlags,
    storeFlag,
    ...placeFlags,
  ],
  examples: [
    { line: 'capstan rules', comment: 'List the rules that apply here, and where they are stored' },
    { line: `capstan rules add allow 'bash(npm test)'`, comment: 'Allow the tests without a question' },
    { line: `capstan rules remove 'bash(npm test)'`, comment: 'Remove that rule' },
    {
      line: `capstan rules test bash 'command=rm -rf build'`,
      comment: 'Explain what the rules decide about a call',
    },
    {
      line: 'capstan rules confirm',
      comment: 'Use the rules and MCP servers that came with this directory',
    },
  ],
  exitCodes: {
    0: 'success; test: the call would be allowed',
    1: 'failure; test: the call would be denied',
    3: 'test: the user would be asked; confirm: not confirmed',
    130: exitCodeMeanings[130],
  },
  run: (args, io) =>
    runAction(
      {
        list: async () => (await import('../rules/list.js')).listRules,
        add: async () => (await import('../rules/change.js')).addRule,
        remove: async () => (await import('../rules/change.js')).removeRule,
        test: async () => (await import('../tools/explain-command.js')).explainCommand,
        confirm: async () => (await import('../rules/confirm.js')).confirmFiles,
      },
      args,
      io,
    ),
}
