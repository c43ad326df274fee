import { runAction } from '../actions.js'
import type { Command } from '../command.js'
import { exitCodeMeanings } from '../exit-codes.js'
import { sessionFlags } from '../setup/session-flags.js'

export const command: Command = {
  usage: [
    '[list] [--all]',
    'show|fork|replay|export ID',
    'resume ID ["PROMPT"]',
    'diff ID ID',
    'import FILE',
    'rm ID …',
  ],
  description: 'An ID can be shortened to its first characters.',
  actions: {
    list: 'List the sessions of this directory, newest first; with --all, of every directory',
    show: 'Print the messages of a session',
    resume: 'Resume a session: in the terminal, with a prompt, or (--run) the run that was interrupted',
    fork: 'Copy a session, up to --at MESSAGE, and print the id of the copy',
    replay: 'Run a session again from its log, offline, up to the first difference',
    diff: 'Compare two sessions message by message',
    export: 'Write a session as lines of JSON',
    import: 'Read a session from lines of JSON; its permissions are dropped unless --trusted is given',
    rm: 'Remove sessions permanently',
  },
  options: [
    { name: 'all', short: 'a', summary: 'list: Show the sessions of every directory' },
    { name: 'subagents', summary: 'list: Show the sessions of subagents, too' },
    { name: 'limit', value: 'n', summary: 'list: Maximum number of sessions (default: 20)' },
    { name: 'json', summary: 'Print JSON' },
    { name: 'at', value: 'message', summary: 'fork: Copy up to this message; replay: Start at this message' },
    { name: 'out', short: 'o', value: 'file', summary: 'export: Write to a new file' },
    { name: 'id', value: 'id', summary: 'import: Id of the new session' },
    { name: 'trusted', summary: 'import: I trust the file; take its permissions, too' },
    { name: 'run', summary: 'resume: Complete the run that was interrupted' },
    ...sessionFlags.filter(({ name }) => name !== 'session' && name !== 'continue'),
    { name: 'verbose', short: 'v', summary: 'resume: Print each tool call on standard error' },
    { name: 'quiet', short: 'q', summary: 'resume: Print only the answer' },
  ],
  examples: [
    { line: 'capstan sessions', comment: 'List the sessions of this directory' },
    { line: 'capstan sessions resume 3f2a "And the tests?"', comment: 'Send a prompt to a session' },
    { line: 'capstan sessions export 3f2a > talk.jsonl', comment: 'Export a session to a file' },
  ],
  exitCodes: { ...exitCodeMeanings, 1: 'failure; diff, replay: the sessions differ' },
  run: (args, io) =>
    runAction(
      {
        list: async () => (await import('../sessions/list.js')).listCommand,
        show: async () => (await import('../sessions/show.js')).showCommand,
        resume: async () => (await import('../sessions/resume.js')).resumeCommand,
        fork: async () => (await import('../sessions/change.js')).forkCommand,
        replay: async () => (await import('../sessions/compare.js')).replayCommand,
        diff: async () => (await import('../sessions/compare.js')).diffCommand,
        export: async () => (await import('../sessions/move.js')).exportCommand,
        import: async () => (await import('../sessions/move.js')).importCommand,
        rm: async () => (await import('../sessions/change.js')).removeCommand,
      },
      args,
      io,
    ),
}
