import { defaultCompaction } from '../loop/compaction/settings.js'
import type { ObservedEvent, RunLimits, RunParts } from '../loop/run-parts.js'
import type { RetryTiming } from '../model/retry.js'
import type { SessionCore } from './core.js'
import { limitNames } from './limit-names.js'
import { prepareServers } from './parts/mcp.js'
import { knownTasks } from './parts/tasks.js'

/** What the loop is given for a run of this session. */
export async function partsFor(
  core: SessionCore,
  signal: AbortSignal,
  conversation: RunParts['conversation'],
): Promise<RunParts> {
  const { options, sessionId } = core.parts
  core.lookAhead()
  const { gate } = await core.engine()
  await prepareServers(core, signal)
  const { stopWhen } = options
  const plans = options.planningMode === 'enabled' && core.shelf.isShown('todo')
  return {
    model: () => core.model(),
    fallbacks: () => core.fallbackModels(),
    ...(core.parts.circuits !== undefined && { circuits: core.parts.circuits }),
    retry: retryOf(core),
    conversation,
    instructions: () => core.instructions(),
    tools: () => core.shelf.definitions((message) => core.emit({ type: 'notice', source: 'tools', message })),
    gate,
    limits: limitsOf(core),
    request: {
      ...(options.temperature !== undefined && { temperature: options.temperature }),
      ...(options.maxTokens !== undefined && { maxTokens: options.maxTokens }),
      ...(options.thinkingBudget !== undefined && {
        additionalParams: { thinkingBudget: options.thinkingBudget },
      }),
    },
    ...(plans && { firstRequest: { toolChoice: { type: 'tool', name: 'todo' } } }),
    ...(options.middleware !== undefined && { middleware: options.middleware }),
    budget: core.budget,
    compaction: {
      auto: options.autoCompact ?? defaultCompaction.auto,
      threshold: options.autoCompactThreshold ?? defaultCompaction.threshold,
    },
    ...(stopWhen !== undefined && { stopWhen: typeof stopWhen === 'function' ? [stopWhen] : stopWhen }),
    takeSteering: () => [
      ...core.steering.splice(0),
      ...(conversation === core.conversation ? (knownTasks(core)?.takeArrivals() ?? []) : []),
    ],
    // What is said on top of another history is not in the log, and nothing could go on from there.
    ...(conversation === core.conversation && {
      roundDone: (done) =>
        core.active && core.keeper?.checkpoint(core.active.id, { ...done, ...core.active.spent }),
    }),
    observe: (event, payload) => observe(core, event, payload, signal),
    emit: core.emit,
    signal,
    sessionId,
    now: core.now,
  }
}

/** The options as a model takes them, with the host's own time and randomness. */
function retryOf({ clock, parts: { options } }: SessionCore): RetryTiming {
  const { maxRetries, ...timing } = options.retry ?? {}
  const { sleep } = clock
  return {
    ...timing,
    ...(maxRetries !== undefined && { maxAttempts: maxRetries + 1 }),
    ...(sleep !== undefined && { sleep: (ms, signal) => sleep.call(clock, ms, signal) }),
    ...(options.hostEnv?.random !== undefined && { random: options.hostEnv.random }),
  }
}

function limitsOf({ parts: { options } }: SessionCore): RunLimits {
  const limits: { -readonly [Name in keyof RunLimits]: RunLimits[Name] } = {}
  for (const name of limitNames) copyLimit(name, options, limits)
  return limits
}

function copyLimit<Name extends keyof RunLimits>(
  name: Name,
  from: Readonly<Pick<RunLimits, Name>>,
  to: { -readonly [Same in Name]?: RunLimits[Same] },
): void {
  if (from[name] !== undefined) to[name] = from[name]
}

async function observe(
  core: SessionCore,
  event: ObservedEvent,
  payload: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<void> {
  if (!core.hooks.has(event)) return
  // The loop builds each payload for its event; hooks have the type of it.
  const outcome = await core.hooks.run(event, payload as never, { signal })
  if (outcome.action === 'block') throw new Error(outcome.reason)
}
