// The budgets of Capstan, and where each is measured. `npm run bench -- check` compares a run with them.
import { verdicts } from './verdict.mjs'

/** `target`: how the names of the targets begin that measure it, by area. @typedef {{ budget: string, places: readonly { area: string, target: string }[] }} Budget */
/** @typedef {{ budget: string, area: string, target: import('./verdict.mjs').Judged | undefined, name: string }} BudgetFound */

/** @type {readonly Budget[]} */
export const budgets = [
  {
    budget:
      'one round, streamed, with rules, hooks, events and a record in files: at most 1.5 times a bare `fetch` loop',
    places: [
      { area: 'peers', target: 'one round, everything on, record in files' },
      { area: 'loop', target: 'one round, everything on, record in files' },
    ],
  },
  {
    budget:
      'the same in a process of few rounds: at most 1.6 times after 250, 1.4 after 2,000; as it comes 1.3',
    places: [
      { area: 'loop', target: 'one round after 250, everything on' },
      { area: 'loop', target: 'one round after 2000, everything on' },
      { area: 'loop', target: 'one round after 250, as it comes' },
      { area: 'loop', target: 'one round after 2000, as it comes' },
    ],
  },
  {
    budget: 'the same: less than every agent library',
    places: [{ area: 'peers', target: 'one round, everything on, against the best peer' }],
  },
  {
    budget: 'importing: at most 60 ms CPU and 12 MB over bare Node',
    places: [
      { area: 'loop', target: "import 'capstan': CPU" },
      { area: 'loop', target: "import 'capstan': memory" },
    ],
  },
  {
    budget: 'from the start to a ready session: at most 80 ms CPU over bare Node',
    places: [{ area: 'loop', target: 'to a ready session' }],
  },
  {
    budget: 'importing: lighter than every agent library',
    places: [{ area: 'peers', target: 'import, against the lightest peer' }],
  },
  {
    budget: 'installing: at most 25 packages, none with an install script',
    places: [
      { area: 'footprint', target: 'packages installed' },
      { area: 'footprint', target: 'packages with an install script' },
    ],
  },
  {
    budget: 'the gate, an in-process tool, everything on: at most 60 µs a call',
    places: [{ area: 'authority', target: 'gate, in-process tool, everything on' }],
  },
  {
    budget: 'an idle session: at most 15 KB of heap',
    places: [
      { area: 'loop', target: 'heap of an idle session' },
      { area: 'peers', target: 'heap of an idle session' },
    ],
  },
  {
    budget: '1,000 sessions of three rounds at once: at most 1.8 times the bare loop',
    places: [
      { area: 'loop', target: 'many sessions at once' },
      { area: 'peers', target: '1,000 sessions of three rounds at once' },
    ],
  },
  {
    budget: '1,000 recorded sessions of three rounds at once: at most 2 times the bare loop',
    places: [
      { area: 'loop', target: 'many recorded sessions at once' },
      { area: 'peers', target: '1,000 recorded sessions of three rounds at once' },
    ],
  },
  {
    budget: '20,000 pieces of text to a reader: at most 3 times the bare loop',
    places: [
      { area: 'loop', target: '20,000 deltas to a reader' },
      { area: 'peers', target: '20,000 pieces of text to a reader' },
    ],
  },
  {
    budget: 'one call on top of 10,000 messages: at most 2.5 times the bare loop',
    places: [
      { area: 'loop', target: 'a call on 10,000 messages' },
      { area: 'peers', target: 'one call on 10,000 messages' },
    ],
  },
  {
    budget: 'the first request, default tools: at most 9 KB',
    places: [{ area: 'loop', target: 'first request' }],
  },
  {
    budget: '`grep`, `glob` over a large tree: at most 1.2 times `rg` and 10 ms',
    places: [
      { area: 'toolbox', target: 'grep, 100 matches' },
      { area: 'toolbox', target: 'grep, a match in every file' },
      { area: 'toolbox', target: 'grep, files with matches' },
      { area: 'toolbox', target: 'glob, a hundredth of the files' },
      { area: 'toolbox', target: 'glob, every file' },
    ],
  },
  {
    budget: 'a program, warm: a fresh sandbox at most 5 ms, a call at most 0.2 ms',
    places: [
      { area: 'program', target: 'warm program in a fresh sandbox' },
      { area: 'program', target: 'call of a program' },
    ],
  },
  {
    budget:
      'a checkpoint: the same bytes on 10 and on 10,000 messages (at most 1.1 times), at most 0.1 ms safe from a crash',
    places: [
      { area: 'log', target: 'bytes of a checkpoint' },
      { area: 'log', target: 'growth of a checkpoint in files' },
      { area: 'log', target: 'a checkpoint in files, safe from a crash' },
    ],
  },
  {
    budget: 'opening 10,000 messages again: at most 1.5 times a plain parse of the same lines',
    places: [{ area: 'log', target: 'reading 10,000 messages from files' }],
  },
  {
    budget: '`capstan --version`: at most 1.6 times `node -e 0`',
    places: [
      { area: 'command', target: '--version' },
      { area: 'peers', target: 'capstan --version' },
    ],
  },
  {
    budget: '`capstan run` to the first request: at most 3 times `node -e 0`',
    places: [
      { area: 'command', target: 'run' },
      { area: 'peers', target: 'capstan run, to the first request' },
    ],
  },
  {
    budget: 'the Python package, from start to first answer: at most 1.3 times the SDK in Node',
    places: [{ area: 'python', target: 'start to first answer' }],
  },
  {
    budget:
      'the server: the first event of a run at most 5 ms after that of the SDK, 1,000 idle sessions at most 40 MB',
    places: [
      { area: 'server', target: 'first event over HTTP' },
      { area: 'server', target: 'first event of a chat' },
      { area: 'server', target: '1,000 idle sessions' },
    ],
  },
  {
    budget: 'the server: 200 readers of which 1 % read nothing lose no event, at most 100 MB',
    places: [
      { area: 'server', target: 'events lost by readers' },
      { area: 'server', target: '200 readers, 1 % of them stalled' },
    ],
  },
  {
    budget: 'no process alive two seconds after SIGKILL of the host',
    places: [{ area: 'footprint', target: 'processes left two seconds after SIGKILL' }],
  },
  {
    budget:
      'growth: no exponent above 1.1 for events, history and opening again; a round and a kept round over the bare loop’s at most 0.1',
    places: [
      { area: 'peers', target: 'growth of a round with the rounds before it' },
      { area: 'peers', target: 'growth of events' },
      { area: 'peers', target: 'growth with the history' },
      { area: 'peers', target: 'growth of opening again' },
      { area: 'peers', target: 'growth of a kept round' },
      { area: 'log', target: 'growth of a checkpoint in files' },
    ],
  },
]

/**
 * Every place of every budget with what a run found there; `target` is missing where the run did not come by.
 * @param {readonly { name: string, targets?: readonly any[] }[]} results
 * @returns {BudgetFound[]}
 */
export function budgetsFound(results) {
  const all = verdicts(results)
  return budgets.flatMap(({ budget, places }) =>
    places.map(({ area, target: name }) => ({
      budget,
      area,
      name,
      target: all.find((one) => one.area === area && begins(one.target.name, name))?.target,
    })),
  )
}

/** Target names are written for people: the name of a command can come first. @param {string} target @param {string} name */
function begins(target, name) {
  return target.startsWith(name) || target.replace(/^(?:command: |capstan )/, '').startsWith(name)
}
