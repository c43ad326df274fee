import type { SessionOptions } from '../session/options.js'
import type { ServerOptions } from './options.js'
import { ProblemError } from './problem.js'
import type { Body } from './route.js'

/** Options that every client can set, because they configure the model or reduce what the session can do. */
const harmless: readonly (keyof SessionOptions & string)[] = [
  'model',
  'mode',
  'temperature',
  'maxTokens',
  'thinkingBudget',
  'reasoningEffort',
  'role',
  'guidelines',
  'responseStyle',
  'extra',
  'planningMode',
  'goalTracking',
  'builtinTools',
  'metadata',
  'maxToolRounds',
  'maxParallelTasks',
  'maxExecutionTimeMs',
  'roundTimeoutMs',
  'toolTimeoutMs',
  'requireReadBeforeWrite',
]

/** Modes that allow calls without an approval. Setting one is a separate action for `authorize`. */
export const wideModes: ReadonlySet<unknown> = new Set(['accept-edits', 'full'])

/** Returns the options that a client set. Throws if it is not allowed to set one of them. */
export function clientOptions(given: Body, { clientOptions: more = [] }: ServerOptions): SessionOptions {
  for (const [name, value] of Object.entries(given)) {
    if (name === 'permissionPolicy' && !more.includes(name)) checkNarrow(value)
    else if (![...harmless, ...more].some((known) => known === name))
      throw new ProblemError(
        'option_not_allowed',
        `The option ${JSON.stringify(name)} cannot be set by a client.`,
      )
  }
  return given
}

/** Checks that a client adds only deny and ask rules; only the host can add allow rules. */
function checkNarrow(policy: unknown): void {
  const names = typeof policy === 'object' && policy !== null ? Object.keys(policy) : []
  const wide = names.find((name) => name !== 'deny' && name !== 'ask')
  if (wide !== undefined)
    throw new ProblemError(
      'option_not_allowed',
      `permissionPolicy.${wide} cannot be set by a client; deny and ask can.`,
    )
}
