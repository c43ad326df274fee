import type { ModeName } from '../../authority/mode.js'
import type { SandboxMode } from '../../workspace/sandbox/choose.js'
import type { OptionSpec } from '../command.js'

// Listed here so that help and completion do not load the rule engine.
const modes = ['plan', 'read-only', 'accept-edits', 'full'] as const satisfies readonly ModeName[]

const sandboxes = [
  'auto',
  'required',
  'off',
  'bubblewrap',
  'landlock',
  'seatbelt',
] as const satisfies readonly SandboxMode[]

export const directoryFlag: OptionSpec = {
  name: 'directory',
  short: 'C',
  value: 'dir',
  summary: 'Directory to work in (default: the current one)',
}

/** Options for the directory and its configuration, for commands that need neither a model nor permissions. */
export const placeFlags: readonly OptionSpec[] = [
  directoryFlag,
  {
    name: 'config',
    value: 'file.acl',
    summary: 'Configuration file to use instead of capstan.acl and ~/.capstan/config.acl',
  },
]

export const storeFlag: OptionSpec = {
  name: 'store',
  value: 'place',
  summary:
    'Session store: a directory, a .db file, a postgres:// URL, or "none" (default: ~/.capstan/sessions)',
}

export const sandboxFlags: readonly OptionSpec[] = [
  {
    name: 'sandbox',
    value: 'how',
    choices: sandboxes,
    summary: 'Sandbox for commands; a name requires that one (default: auto)',
  },
  {
    name: 'limit',
    value: 'name=max',
    repeatable: true,
    summary: 'Limit of each command: memory=2g, processes=500, cpu=10m, disk=5g, or none',
  },
  {
    name: 'allow-host',
    value: 'host',
    repeatable: true,
    summary: 'Allow sandboxed commands to connect to this host',
  },
  {
    name: 'read-only-host',
    value: 'host',
    repeatable: true,
    summary: 'Allow only GET and HEAD to this allowed host, or to all with "*"',
  },
  { name: 'git-fetch', summary: 'Allow git to read from read-only hosts' },
  {
    name: 'host-secret',
    value: 'host=env:name',
    repeatable: true,
    summary: 'Add the token of a variable, or of a file (host=file:path), to requests to this host',
  },
]

/** Options for what tools are allowed to do. */
export const permissionFlags: readonly OptionSpec[] = [
  {
    name: 'allow',
    value: 'rule',
    repeatable: true,
    summary: 'Allow matching calls without a question, for example "bash(npm test)"',
  },
  { name: 'deny', value: 'rule', repeatable: true, summary: 'Deny matching calls' },
  { name: 'ask', value: 'rule', repeatable: true, summary: 'Ask about matching calls' },
  { name: 'mode', value: 'mode', choices: modes, summary: 'Permission mode' },
  ...sandboxFlags,
]

/** All options of a session. */
export const sessionFlags: readonly OptionSpec[] = [
  {
    name: 'model',
    short: 'm',
    value: 'provider/model',
    summary:
      'Model to use, or "offline". To make it the default, set CAPSTAN_MODEL, or default_model in a configuration ("capstan init")',
  },
  { name: 'agent', value: 'name', summary: 'Named agent of this project or of the user' },
  ...permissionFlags,
  { name: 'max-rounds', value: 'n', summary: 'Maximum rounds of tool calls in a run' },
  { name: 'timeout', value: 'duration', summary: 'Time limit of a run, for example 90s or 10m' },
  { name: 'budget', value: 'amount', summary: 'Cost limit: 0.50usd, or 200k tokens' },
  {
    name: 'retries',
    value: 'n',
    summary: 'Retries of a failed model request; 0 turns them off (default: 7, about one minute)',
  },
  {
    name: 'fallback-model',
    value: 'provider/model',
    repeatable: true,
    summary: 'Model to use when the main model cannot answer',
  },
  {
    name: 'otel',
    summary: 'Send telemetry over OTLP to OTEL_EXPORTER_OTLP_ENDPOINT (default: http://127.0.0.1:4318)',
  },
  { name: 'session', short: 's', value: 'id', summary: 'Resume the session with this id, or start it' },
  { name: 'continue', short: 'c', summary: 'Resume the newest session of this directory' },
  storeFlag,
  ...placeFlags,
]
