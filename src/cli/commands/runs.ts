import { runAction } from '../actions.js'
import { databaseFlags } from '../cluster/database-flags.js'
import type { Command } from '../command.js'
import { exitCodeMeanings } from '../exit-codes.js'
import { placeFlags } from '../setup/session-flags.js'

export const command: Command = {
  usage: [
    'submit "PROMPT" [--session ID] [--workspace NAME] [--follow]',
    'list [--state STATE …]',
    'show|follow|cancel|redrive RUN',
    'steer RUN "TEXT"',
    'answer RUN [CALL] --decision once|session|always|reject [--message TEXT]',
    'answer RUN [CALL] --answer TEXT …',
  ],
  description:
    'Submits runs to the cluster, and follows and controls them from any machine that reaches its database.',
  actions: {
    submit: 'Add a run to the queue and print its id',
    list: 'List runs, newest first',
    show: 'Print a run and the calls that wait for an approval or an answer',
    follow: 'Print the answer of a run as it is written, until the run ends',
    cancel: 'Cancel a run that waits or is active',
    steer: 'Add a message to a run; the model reads it before its next answer',
    answer: 'Approve or reject a call that waits, or answer a question of the model',
    redrive: 'Queue a dead or failed run again',
  },
  options: [
    {
      name: 'session',
      short: 's',
      value: 'id',
      summary: 'submit, list: Session of the run (default: a new one)',
    },
    { name: 'workspace', value: 'name', summary: "submit: Name of one of the worker's workspaces" },
    { name: 'tenant', value: 'id', summary: 'Tenant: only its runs exist for this command' },
    { name: 'lane', value: 'name', summary: 'submit, list: Lane (default: default)' },
    { name: 'priority', value: 'n', summary: 'submit: Higher numbers first (default: 0)' },
    { name: 'not-before', value: 'time', summary: 'submit: Start at this time at the earliest (ISO 8601)' },
    { name: 'idempotency-key', value: 'key', summary: 'submit: The same key is the same run' },
    { name: 'follow', short: 'f', summary: 'submit: Follow the run after it is submitted' },
    { name: 'state', value: 'state', repeatable: true, summary: 'list: Only runs in this state' },
    { name: 'limit', value: 'n', summary: 'list: Maximum number of runs (default: 20)' },
    { name: 'from', value: 'n', summary: 'follow: The last event number that you have (default: 0)' },
    {
      name: 'decision',
      value: 'decision',
      choices: ['once', 'session', 'always', 'reject'],
      summary: 'answer: Your decision',
    },
    {
      name: 'answer',
      value: 'text',
      repeatable: true,
      summary: 'answer: The answer to a question of the model; one for each of its parts',
    },
    { name: 'message', value: 'text', summary: 'answer: Why a call is rejected; the model reads it' },
    { name: 'json', summary: 'Print JSON; follow: one event per line' },
    ...databaseFlags,
    ...placeFlags.filter(({ name }) => name === 'config'),
  ],
  examples: [
    {
      line: 'capstan runs submit "Summarize the open issues" --follow',
      comment: 'Submit a run and follow it',
    },
    { line: 'capstan runs answer 3f2a --decision once', comment: 'Approve the call that waits' },
  ],
  exitCodes: { ...exitCodeMeanings, 3: 'follow: the run is dead and waits for "runs redrive"' },
  run: (args, io) =>
    runAction(
      {
        submit: async () => (await import('../cluster/runs.js')).submitRun,
        list: async () => (await import('../cluster/runs.js')).listRuns,
        show: async () => (await import('../cluster/runs.js')).showRun,
        follow: async () => (await import('../cluster/runs.js')).followRun,
        cancel: async () => (await import('../cluster/runs.js')).cancelRun,
        steer: async () => (await import('../cluster/runs.js')).steerRun,
        answer: async () => (await import('../cluster/runs.js')).answerRun,
        redrive: async () => (await import('../cluster/runs.js')).redriveRun,
      },
      args,
      io,
    ),
}
