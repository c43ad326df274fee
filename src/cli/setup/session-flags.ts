import type { ModeName } from '../../authority/mode.js'
import type { OptionSpec } from '../command.js'

// Written out, so that help and completion need not load what judges calls.
const modes = ['plan', 'read-only', 'accept-edits', 'full'] as const satisfies readonly ModeName[]

/** Which model and which files: for commands that need nothing else. */
export const placeFlags: readonly OptionSpec[] = [
  {
    name: 'directory',
    short: 'C',
    value: 'dir',
    summary: 'the directory to work in; this one when left out',
  },
  {
    name: 'config',
    value: 'file.acl',
    summary: 'a configuration, instead of capstan.acl and the user\u2019s own',
  },
]

export const storeFlag: OptionSpec = {
  name: 'store',
  value: 'place',
  summary: 'where sessions are kept: a directory, a .db file, or none; ~/.capstan/sessions when left out',
}

/** What a tool may do. */
export const permissionFlags: readonly OptionSpec[] = [
  {
    name: 'allow',
    value: 'rule',
    repeatable: true,
    summary: 'what may be done without asking, such as "bash(npm test)"',
  },
  { name: 'deny', value: 'rule', repeatable: true, summary: 'what must never be done' },
  { name: 'ask', value: 'rule', repeatable: true, summary: 'what must be asked about' },
  { name: 'mode', value: 'mode', choices: modes, summary: 'a set of permissions' },
  {
    name: 'sandbox',
    value: 'how',
    choices: ['auto', 'required', 'off'],
    summary: 'how commands are confined; auto when left out',
  },
  {
    name: 'allow-host',
    value: 'host',
    repeatable: true,
    summary: 'a host that commands may reach from the sandbox',
  },
]

/** Everything that a session of the command can be told. */
export const sessionFlags: readonly OptionSpec[] = [
  {
    name: 'model',
    short: 'm',
    value: 'provider/model',
    summary:
      'the model to ask, or offline; for good: CAPSTAN_MODEL, or default_model in a configuration (capstan init)',
  },
  { name: 'agent', value: 'name', summary: 'an agent of this project or of the user, by its name' },
  ...permissionFlags,
  { name: 'max-rounds', value: 'n', summary: 'how many rounds of tool calls a run may have' },
  { name: 'timeout', value: 'duration', summary: 'how long a run may take, such as 90s or 10m' },
  { name: 'budget', value: 'amount', summary: 'what the model may cost: 0.50usd, or 200k tokens' },
  {
    name: 'retries',
    value: 'n',
    summary:
      'how often a failed request to the model is sent again; 7 when left out (about a minute), 0 for never',
  },
  {
    name: 'fallback-model',
    value: 'provider/model',
    repeatable: true,
    summary: 'a model that takes over when the other one cannot answer',
  },
  { name: 'session', short: 's', value: 'id', summary: 'go on with the session of this id, or begin it' },
  { name: 'continue', short: 'c', summary: 'go on with the newest session of this directory' },
  storeFlag,
  ...placeFlags,
]
