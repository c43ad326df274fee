import type { Engine } from '../feature/feature-context.js'
import { defaultCompaction } from '../loop/compaction/settings.js'
import type { RequestWatch, RunLimits, RunParts } from '../loop/run-parts.js'
import type { Model } from '../model/model.js'
import type { RetryTiming } from '../model/retry.js'
import type { CompletionRequest, UserMessage } from '../tool/completion.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { featuresWith } from './features-with.js'
import type { SessionKernel } from './kernel.js'
import { limitNames } from './limit-names.js'
import type { SessionOptions } from './options.js'

/** Returns the parts that the loop needs for a run of this session. */
export async function partsFor(
  kernel: SessionKernel,
  signal: AbortSignal,
  conversation: RunParts['conversation'],
  engine: Promise<Engine> = kernel.engine.open(),
): Promise<RunParts> {
  const { options, sessionId } = kernel
  kernel.prompt.lookAhead()
  const { gate } = await engine
  for (const feature of featuresWith('beforeModel')) await feature.beforeModel(kernel, signal)
  const { stopWhen } = options
  const plans = options.planningMode === 'enabled' && kernel.tools.isShown('todo')
  return {
    model: () => kernel.models.current(),
    fallbacks: () => kernel.models.fallbacks(),
    circuits: kernel.setup.circuits,
    retry: retryOf(kernel),
    conversation,
    instructions: () => kernel.prompt.text(),
    tools: () =>
      kernel.tools.definitions((message) => kernel.emit({ type: 'notice', source: 'tools', message })),
    gate,
    limits: limitsOf(kernel),
    request: {
      ...omitUndefined({ temperature: options.temperature, maxTokens: options.maxTokens }),
      ...reasoningOf(options),
    },
    firstRequest: plans ? { toolChoice: { type: 'tool', name: 'todo' } } : undefined,
    middleware: options.middleware,
    budget: kernel.spending.budget,
    compaction: {
      auto: options.autoCompact ?? defaultCompaction.auto,
      threshold: options.autoCompactThreshold ?? defaultCompaction.threshold,
    },
    stopWhen: typeof stopWhen === 'function' ? [stopWhen] : stopWhen,
    takeSteering: () => [
      ...(kernel.queue.active?.steering.splice(0) ?? []),
      ...(conversation === kernel.log.conversation ? takeMessages(kernel) : []),
    ],
    // Messages on another history are not in the log, so nothing could be resumed from them.
    ...(conversation === kernel.log.conversation && {
      callEnded: (callId, envelope) => kernel.log.recorder?.ended(callId, envelope),
      roundDone: async (done) => {
        const { active } = kernel.queue
        if (active !== undefined)
          await kernel.log.recorder?.checkpoint(active.id, { ...done, ...active.spent })
        kernel.passivation?.roundDone()
      },
    }),
    watchRequest: (model, request) => watchRequest(kernel, model, request),
    isObserved: (event) =>
      featuresWith('observe').some((feature) => feature.observes?.(kernel, event) ?? true),
    observe: (event, payload) => kernel.observe(event, payload, signal),
    emit: kernel.emit,
    signal,
    sessionId,
    now: kernel.now,
  }
}

/** Returns the reasoning settings. A level takes precedence over a number of tokens. */
function reasoningOf({
  reasoningEffort,
  thinkingBudget,
}: SessionOptions): Pick<CompletionRequest, 'additionalParams'> {
  if (reasoningEffort !== undefined) return { additionalParams: { reasoningEffort } }
  return thinkingBudget === undefined ? {} : { additionalParams: { thinkingBudget } }
}

/** Combines the observers of a request from all features; undefined when there are none. */
function watchRequest(
  kernel: SessionKernel,
  model: Model,
  request: CompletionRequest,
): RequestWatch | undefined {
  const watches = featuresWith('watchRequest').flatMap(
    (feature) => feature.watchRequest(kernel, model, request) ?? [],
  )
  if (watches.length <= 1) return watches[0]
  return {
    answered(answer) {
      for (const watch of watches) watch.answered(answer)
    },
    failed(error) {
      for (const watch of watches) watch.failed(error)
    },
    headersFor: (url) => watches.find((watch) => watch.headersFor !== undefined)?.headersFor?.(url),
  }
}

/** Returns messages for the model from features, such as results of background tasks. */
export function takeMessages(kernel: SessionKernel): readonly UserMessage[] {
  return featuresWith('takeMessages').flatMap((feature) => feature.takeMessages(kernel))
}

/** Returns the retry options for a model, with the host's own time and randomness. */
function retryOf({ options }: SessionKernel): RetryTiming {
  const { maxRetries, ...timing } = options.retry ?? {}
  const { clock, random } = options.hostEnv ?? {}
  return {
    ...timing,
    ...(maxRetries !== undefined && { maxAttempts: maxRetries + 1 }),
    ...(clock?.sleep !== undefined && { sleep: clock.sleep.bind(clock) }),
    ...omitUndefined({ random }),
  }
}

function limitsOf({ options }: SessionKernel): RunLimits {
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
