import type { FeatureContext } from '../feature/feature-context.js'
import { both, each, object, readable } from '../feature/option-check.js'
import type { SessionFeature } from '../feature/session-feature.js'
import { RunError } from '../loop/errors.js'
import type { AgentEvent } from '../loop/events.js'
import { snakeUsage } from '../loop/usage.js'
import { CapstanError, messageOf } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { withTimeout } from '../workspace/shell/with-timeout.js'
import type { HookEventName } from './events.js'
import { gateHooks, hookedAsk } from './gate-hooks.js'
import type { HookConfig, HookHandler } from './hook.js'
import { createHooks, type HookOutcome, type Hooks } from './hooks.js'
import type { HookMatcher } from './matcher.js'

/** A hook as an option: the arguments of `registerHook`. */
export type HookOption = {
  [Name in HookEventName]: {
    readonly id: string
    readonly event: Name
    readonly matcher?: HookMatcher
    readonly config?: HookConfig
    readonly handler: HookHandler<Name>
  }
}[HookEventName]

export type HookFeatureOptions = { readonly hooks?: readonly HookOption[] }

type HookSession = FeatureContext<HookFeatureOptions & { readonly planningMode?: string }>

/** Checks a hook by registering it: an invalid hook is reported before the session exists. */
const hook = readable((value) =>
  register(createHooks({ session: { sessionId: '', workspace: '/' }, now: () => 0 }), value as HookOption),
)

/** Calls host code at fixed points of a session. Subagents have the hooks of their parent. */
export const hooksFeature: SessionFeature<Hooks, HookFeatureOptions> = {
  name: 'hooks',
  create: createSessionHooks,
  isUnused: (hooks) => hooks.isUnused(),
  options: { hooks: each(both(object, hook)) },
  opened(session) {
    if (session.options.hooks !== undefined) session.use(hooksFeature)
  },
  async started(session, signal) {
    const payload = { working_directory: session.root, resumed: session.restored !== undefined }
    await session.observe('session_start', payload, signal)
  },
  async ended(session, wasStarted) {
    if (wasStarted) await session.observe('session_end', { reason: 'closed' })
    const hooks = session.peek(hooksFeature)
    if (hooks !== undefined) await withTimeout(hooks.settled(), hookGraceMs)
  },
  delaysPrompt: (session) =>
    (['session_start', 'pre_prompt', 'pre_planning'] as const).some((event) => hasHook(session, event)),
  rewritePrompt: promptThroughHooks,
  async afterResponse(session, outcome, startedAtMs, signal) {
    if (!hasHook(session, 'post_response')) return
    const payload = {
      response_text: outcome.text,
      tool_calls_count: outcome.toolCallsCount,
      usage: snakeUsage(outcome.usage),
      duration_ms: session.now() - startedAtMs,
    }
    await session.observe('post_response', payload, signal)
  },
  async afterRun(session, _run, end) {
    if ('result' in end) return
    const { error, aborted } = end
    const reported = session.observe('on_error', {
      error_type: kindOf(error),
      error_message: messageOf(error),
    })
    // The caller of a cancelled run does not wait for hooks.
    if (!aborted) await reported
  },
  onEvent: reportEvent,
  observes: (session, event) => session.use(hooksFeature).has(event),
  async observe(session, event, payload, signal) {
    const hooks = session.use(hooksFeature)
    if (!hooks.has(event)) return
    // The code that reports an event builds the payload for it.
    const outcome = await hooks.run(event, payload as never, signal && { signal })
    if (outcome.action === 'block') throw new Error(outcome.reason)
  },
  gate(session) {
    const hooks = session.use(hooksFeature)
    return { ...gateHooks(hooks), ask: (next) => hookedAsk(hooks, next) }
  },
}

/** The time that hooks which the session does not wait for have after it was closed. */
const hookGraceMs = 2_000

function createSessionHooks(session: HookSession): Hooks {
  const { sessionId, root, labels, options, parent } = session
  const place = { sessionId, workspace: root, ...labels }
  const hooks =
    parent?.session.use(hooksFeature).forSession(place) ??
    createHooks({
      session: place,
      now: () => session.now(),
      ...omitUndefined({ clean: session.redactor.withoutKeys }),
      onNotice: ({ hookId, message }) => session.emit({ type: 'notice', source: `hook ${hookId}`, message }),
    })
  for (const one of options.hooks ?? []) register(hooks, one)
  return hooks
}

function register(hooks: Hooks, { id, event, matcher, config, handler }: HookOption): void {
  hooks.register(id, event, matcher, config, handler as HookHandler)
}

function hasHook(session: FeatureContext, event: HookEventName): boolean {
  return session.use(hooksFeature).has(event)
}

/** Hooks can stop a prompt, or replace it. */
async function promptThroughHooks(
  session: HookSession,
  text: string,
  { history }: { readonly history?: readonly unknown[] | undefined },
  signal: AbortSignal,
): Promise<string> {
  const hooks = session.use(hooksFeature)
  let prompt = text
  if (hooks.has('pre_prompt')) {
    const payload = {
      prompt,
      system_prompt: await session.prompt.text(),
      message_count:
        history?.length ?? session.log.conversation.trimmed + session.log.conversation.messages.length,
    }
    prompt = promptOf(await hooks.run('pre_prompt', payload, { signal }))
  }
  if (session.options.planningMode === 'enabled' && hooks.has('pre_planning'))
    prompt = promptOf(await hooks.run('pre_planning', { prompt }, { signal }))
  return prompt
}

function promptOf(outcome: HookOutcome<'pre_prompt'> | HookOutcome<'pre_planning'>): string {
  if (outcome.action === 'continue') return outcome.payload.prompt
  const { hookId, reason = 'it requested another call' } = outcome
  throw new RunError('blocked_by_hook', `The prompt was blocked by the hook '${hookId}': ${reason}`)
}

/** Reports the events of a run that have their own hook. The run does not wait for the hook. */
function reportEvent(session: FeatureContext, event: AgentEvent): void {
  if (event.type === 'planning_end')
    void session.observe('post_planning', { plan: event.plan, estimated_steps: event.estimatedSteps })
  if (event.type === 'budget_threshold_hit')
    void session.observe('budget_threshold_hit', {
      resource: event.resource,
      kind: event.kind,
      consumed: event.consumed ?? 0,
      limit: event.limit ?? 0,
      ...omitUndefined({ message: event.message }),
    })
}

function kindOf(error: unknown): 'llm_failure' | 'timeout' | 'other' {
  if (!(error instanceof CapstanError)) return 'other'
  if (error.code.endsWith('timeout')) return 'timeout'
  return error.code.startsWith('model_') ? 'llm_failure' : 'other'
}
