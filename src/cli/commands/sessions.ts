import { nearestNames, quoteNames } from '../../tool/nearest.js'
import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import type { Io } from '../io.js'
import { sessionFlags } from '../setup/session-flags.js'

const actions = {
  list: 'those of this directory, the newest first; --all: of every directory',
  show: 'what was said in one',
  resume: 'go on with one: in the terminal, with a prompt, or (--run) with the run that was cut off',
  fork: 'another session with a copy of what was said, up to --at MESSAGE; gives its id',
  replay: 'run one again from its own log, offline, up to the first difference',
  diff: 'two of them turn by turn; ends with 1 when they differ',
  export: 'one as lines of JSON',
  import: 'take such lines; they bring no permissions unless --trusted',
  rm: 'remove some for good',
} as const

type Action = (args: Args, io: Io) => Promise<number>

const load: Readonly<Record<keyof typeof actions, () => Promise<Action>>> = {
  list: async () => (await import('../sessions/list.js')).listCommand,
  show: async () => (await import('../sessions/show.js')).showCommand,
  resume: async () => (await import('../sessions/resume.js')).resumeCommand,
  fork: async () => (await import('../sessions/change.js')).forkCommand,
  replay: async () => (await import('../sessions/compare.js')).replayCommand,
  diff: async () => (await import('../sessions/compare.js')).diffCommand,
  export: async () => (await import('../sessions/move.js')).exportCommand,
  import: async () => (await import('../sessions/move.js')).importCommand,
  rm: async () => (await import('../sessions/change.js')).removeCommand,
}

export const command: Command = {
  usage: ['[list] [--all]', 'show|resume|fork|replay|export|rm ID', 'diff ID ID', 'import FILE'],
  about: 'Instead of a whole id, the beginning of one will do.',
  actions,
  options: [
    { name: 'all', short: 'a', summary: 'list: of every directory' },
    { name: 'subagents', summary: 'list: also the sessions that subagents had' },
    { name: 'limit', value: 'n', summary: 'list: how many; 20 when left out' },
    { name: 'json', summary: 'as JSON' },
    { name: 'at', value: 'message', summary: 'fork: up to this message; replay: from this one on' },
    { name: 'out', short: 'o', value: 'file', summary: 'export: into a new file' },
    { name: 'id', value: 'id', summary: 'import: the id it gets' },
    { name: 'trusted', summary: 'import: the lines are my own, and their permissions count' },
    { name: 'run', summary: 'resume: go on with the run that was cut off' },
    ...sessionFlags.filter(({ name }) => name !== 'session' && name !== 'continue'),
    { name: 'verbose', short: 'v', summary: 'resume: tell on standard error what is done' },
    { name: 'quiet', short: 'q', summary: 'resume: tell nothing but the answer' },
  ],
  examples: [
    { line: 'capstan sessions', says: 'what was done here' },
    { line: 'capstan sessions resume 3f2a "And the tests?"', says: 'goes on with one' },
    { line: 'capstan sessions export 3f2a > talk.jsonl', says: 'to look at, or to move' },
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
