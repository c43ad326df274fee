import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { AgentEvent, AgentEventType } from '../../src/loop/events.js'
import { rowsBetween } from './page-table.js'

type Of<Type, Event = AgentEvent> = Event extends { readonly type: infer Own }
  ? Type extends Own
    ? Event
    : never
  : never
/** Every field of an event but its type and those that it only shares the name of, with whether it may be absent. */
type Fields<Event> = {
  readonly [Name in Exclude<keyof Event, 'type'> as Event[Name] extends undefined
    ? never
    : Name]-?: Event extends Readonly<Record<Name, unknown>> ? 'always' : 'maybe'
}

/** The compiler holds this list to the union of events, and the test holds the page to this list. */
const events: { readonly [Type in AgentEventType]: Fields<Of<Type>> } = {
  agent_start: { runId: 'always', prompt: 'always' },
  agent_end: { runId: 'always', result: 'always' },
  agent_cancelled: { reason: 'always', usage: 'maybe', costUsd: 'maybe' },
  error: { error: 'always', code: 'maybe', usage: 'maybe', costUsd: 'maybe' },
  agent_mode_changed: { mode: 'always' },
  turn_start: { turn: 'always' },
  turn_end: { turn: 'always', usage: 'always', finish: 'always' },
  text_delta: { text: 'always', whole: 'maybe' },
  reasoning_delta: { text: 'always', whole: 'maybe' },
  steered: { prompt: 'always' },
  model_retry: {
    attempt: 'always',
    delayMs: 'always',
    reason: 'always',
    status: 'maybe',
    agent: 'maybe',
  },
  model_rate_limit_wait: { model: 'always', waitMs: 'always', agent: 'maybe' },
  answer_restarted: { turn: 'always', reason: 'always' },
  model_fallback: {
    turn: 'always',
    from: 'always',
    to: 'always',
    reason: 'always',
    code: 'always',
    agent: 'maybe',
  },
  model_circuit_opened: {
    model: 'always',
    failures: 'always',
    openMs: 'always',
    reason: 'always',
    agent: 'maybe',
  },
  tool_start: { toolId: 'always', toolName: 'always', kind: 'maybe', title: 'maybe' },
  tool_input_delta: { toolId: 'always', text: 'always' },
  tool_execution_start: {
    toolId: 'always',
    toolName: 'always',
    args: 'always',
    kind: 'maybe',
    title: 'maybe',
    paths: 'maybe',
  },
  tool_output_delta: {
    toolId: 'always',
    toolName: 'always',
    text: 'always',
    whole: 'maybe',
    kind: 'maybe',
    title: 'maybe',
  },
  tool_end: {
    toolId: 'always',
    toolName: 'always',
    toolOutput: 'always',
    exitCode: 'always',
    isError: 'always',
    metadata: 'always',
    decision: 'maybe',
    kind: 'maybe',
    title: 'maybe',
    paths: 'maybe',
  },
  network_request: {
    toolId: 'always',
    toolName: 'always',
    method: 'always',
    scheme: 'always',
    host: 'always',
    port: 'always',
    verdict: 'always',
    code: 'maybe',
    rule: 'maybe',
    status: 'maybe',
    bytesUp: 'always',
    bytesDown: 'always',
    durationMs: 'always',
    secretHeader: 'maybe',
    count: 'maybe',
    kind: 'maybe',
    title: 'maybe',
  },
  permission_denied: {
    toolId: 'always',
    toolName: 'always',
    reason: 'always',
    kind: 'maybe',
    title: 'maybe',
    paths: 'maybe',
  },
  confirmation_required: {
    toolId: 'always',
    toolName: 'always',
    args: 'always',
    reasons: 'always',
    timeoutMs: 'maybe',
    suggestion: 'maybe',
    kind: 'maybe',
    title: 'maybe',
    paths: 'maybe',
  },
  confirmation_received: {
    toolId: 'always',
    approved: 'always',
    reason: 'maybe',
    decision: 'maybe',
    by: 'maybe',
  },
  confirmation_timeout: { toolId: 'always', actionTaken: 'always' },
  user_question: { questions: 'always', toolId: 'maybe', agent: 'maybe', taskId: 'maybe' },
  context_compacted: {
    how: 'always',
    beforeMessages: 'always',
    afterMessages: 'always',
    beforeTokens: 'always',
    afterTokens: 'always',
    percentBefore: 'always',
    summary: 'maybe',
  },
  compaction_failed: { error: 'always' },
  cache_miss: { expectedTokens: 'always', cachedTokens: 'always' },
  persistence_failed: { operation: 'always', error: 'always' },
  planning_start: { prompt: 'always' },
  planning_end: { plan: 'always', estimatedSteps: 'always' },
  task_updated: { tasks: 'always' },
  step_start: { step: 'always', stepNumber: 'always', totalSteps: 'always' },
  step_end: { step: 'always', stepNumber: 'always', totalSteps: 'always' },
  goal_started: {
    description: 'always',
    check: 'always',
    maxRounds: 'always',
    maxTimeMs: 'always',
    maxCostUsd: 'maybe',
  },
  goal_checked: { check: 'always', met: 'always', reason: 'always' },
  goal_ended: {
    description: 'always',
    met: 'always',
    reason: 'always',
    checks: 'always',
    elapsedMs: 'always',
    costUsd: 'maybe',
    detail: 'maybe',
  },
  goal_extracted: { goal: 'always' },
  goal_progress: { goal: 'always', progress: 'always', completedSteps: 'always', totalSteps: 'always' },
  goal_achieved: { goal: 'always', totalSteps: 'always' },
  memory_stored: { memoryId: 'always', memoryType: 'always', importance: 'always', tags: 'always' },
  memory_recalled: { memoryId: 'always', content: 'always', relevance: 'always' },
  memories_searched: { query: 'maybe', tags: 'always', resultCount: 'always' },
  memory_cleared: { tier: 'always', count: 'always' },
  verification_start: { subject: 'always', checkCount: 'always' },
  verification_check_start: { subject: 'always', checkId: 'always', description: 'always' },
  verification_check_end: {
    subject: 'always',
    checkId: 'always',
    status: 'always',
    required: 'always',
    durationMs: 'always',
    exitCode: 'maybe',
  },
  verification_end: {
    subject: 'always',
    status: 'always',
    failedCheckCount: 'always',
    pendingCheckCount: 'always',
  },
  subagent_start: {
    taskId: 'always',
    sessionId: 'always',
    parentSessionId: 'always',
    agent: 'always',
    description: 'always',
  },
  subagent_progress: { taskId: 'always', sessionId: 'always', status: 'always', metadata: 'always' },
  subagent_end: {
    taskId: 'always',
    sessionId: 'always',
    agent: 'always',
    output: 'always',
    success: 'always',
    error: 'maybe',
  },
  external_task_pending: {
    taskId: 'always',
    sessionId: 'always',
    lane: 'always',
    commandType: 'always',
    payload: 'always',
    timeoutMs: 'always',
  },
  external_task_completed: { taskId: 'always', sessionId: 'always', success: 'always' },
  command_retry: {
    commandId: 'always',
    commandType: 'always',
    lane: 'always',
    attempt: 'always',
    delayMs: 'always',
  },
  command_dead_lettered: {
    commandId: 'always',
    commandType: 'always',
    lane: 'always',
    error: 'always',
    attempts: 'always',
  },
  queue_alert: { level: 'always', alertType: 'always', lane: 'always', message: 'always' },
  budget_threshold_hit: {
    resource: 'always',
    kind: 'always',
    consumed: 'maybe',
    limit: 'maybe',
    message: 'maybe',
  },
  passivation_requested: { reason: 'always', deadlineMs: 'maybe' },
  peer_invocation: { fromSessionId: 'always', fromTenantId: 'maybe', correlationId: 'maybe' },
  agent_tool_event: {
    toolName: 'always',
    toolId: 'always',
    callId: 'maybe',
    agentId: 'always',
    agentName: 'maybe',
    event: 'always',
  },
  notice: { source: 'always', message: 'always', code: 'maybe' },
  events_missed: { count: 'always' },
}

describe('the table of events in docs/events.md', () => {
  const page = readFileSync(new URL('../../docs/events.md', import.meta.url), 'utf8')

  it('has every event with its fields, and no other', () => {
    const documented = rowsBetween(page, 'events').map(([type = '', fields = '']) => [type, fields])
    const real = Object.entries(events).map(([type, fields]) => [
      `\`${type}\``,
      Object.entries(fields)
        .map(([name, when]) => `\`${name}${when === 'maybe' ? '?' : ''}\``)
        .join(' '),
    ])
    expect(documented).toEqual(real)
  })
})
