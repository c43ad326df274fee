import type { DeadLetter } from '../queue/dead-letters.js'
import type { QueuedRun } from '../run-queue/run-queue.js'
import type { Session } from '../session/session.js'
import { objectSchema } from '../tool/object-schema.js'
import { asRecorded } from './as-recorded.js'
import type { ServerOptions } from './options.js'
import { ProblemError, type RetryProblem, retryProblems } from './problem.js'
import {
  answer,
  callerRoute,
  json,
  listOf,
  type Route,
  type RouteContext,
  ref,
  type SessionContext,
  sessionRoute,
} from './route.js'
import { seesTenant } from './sees-tenant.js'

/** The queue of the cluster, and the lanes of a session. */
export const queueRoutes: readonly Route[] = [
  callerRoute('GET', '/v1/cluster', 'getCluster', {
    summary: 'The lanes and workers of the cluster, and the dead runs of the caller.',
    tag: 'queues',
    responses: answer(
      '`status` is absent when this server executes runs itself, and for the callers of one tenant. `POST …/resume` of a dead run queues it again.',
      objectSchema({ 'status?': ref('ClusterStatus'), dead: listOf(ref('DeadRun')) }),
    ),
    handle: getCluster,
  }),
  sessionRoute('GET', '/queue', 'getQueue', {
    summary: 'The lanes of a session, the calls that workers have, and its dead letters.',
    tag: 'queues',
    responses: answer('No lanes when calls run at once.', ref('LaneQueue')),
    handle: async ({ core, session }) =>
      json(200, session.hasQueue() ? await lanesOf(session, core.options) : noLanes),
  }),
  sessionRoute('POST', '/queue/dead-letters/{commandId}/retry', 'retryDeadLetter', {
    summary:
      'Make the call of a dead letter again. It is a direct call, without rules and approvals: the host enables the tool by name.',
    tag: 'queues',
    body: objectSchema({
      'evenIfItMayHaveRun?': {
        type: 'boolean',
        description: 'Needed when the call may have done some of its work already.',
      },
    }),
    responses: answer('The result of the call.', ref('ToolResult')),
    problems: ['dead_letter_not_found', 'call_may_have_run', ...retryProblems],
    handle: retryDeadLetter,
  }),
]

async function getCluster({ core, principal }: RouteContext): Promise<Response> {
  if (core.queued === undefined) return json(200, { dead: [] })
  const { queue } = core.queued
  const { tenantId } = principal
  const { runs } = await queue.list({ tenantId, states: ['dead'], limit: maxDead })
  const sessions = runs.length === 0 ? [] : await core.pool.store.list()
  const dead = await Promise.all(
    runs.map(async (run) => {
      const info = sessions.find(({ id }) => id === run.sessionId)
      if (!seesTenant(principal, run.tenantId) || info === undefined) return []
      return (await core.allows(principal, 'getRun', info)) ? [shownRun(run)] : []
    }),
  )
  // Callers of one tenant must not see the state of the whole cluster.
  const status = tenantId === undefined ? await queue.status() : undefined
  return json(200, { status, dead: dead.flat() })
}

function shownRun(run: QueuedRun): Record<string, unknown> {
  const { runId, sessionId, prompt, lane, tenantId, submittedAtMs, updatedAtMs, attempt, error } = run
  const text = prompt.slice(0, maxPrompt)
  return { runId, sessionId, prompt: text, lane, tenantId, submittedAtMs, updatedAtMs, attempt, error }
}

const maxDead = 200
const maxPrompt = 200
const noLanes = { lanes: [], tasks: [], deadLetters: [] }

async function lanesOf(session: Session, options: ServerOptions): Promise<Record<string, unknown>> {
  const [{ lanes }, tasks, letters, metrics] = await Promise.all([
    session.queueStats(),
    session.pendingExternalTasks(),
    session.deadLetters(),
    session.queueMetrics(),
  ])
  return {
    lanes: Object.entries(lanes).map(([lane, state]) => ({ lane, ...state })),
    tasks: tasks.map(({ taskId, lane, commandType, attempt }) => ({
      taskId,
      lane,
      toolName: commandType,
      attempt,
    })),
    deadLetters: letters.map((letter) => {
      const { commandId, commandType, lane, payload, error, attempts, failedAt, mayHaveRun } = letter
      const retryProblem = retryProblemOf(letter, options)
      return {
        ...{ commandId, toolName: commandType, lane, attempts },
        ...asRecorded(session, { args: payload, error }),
        ...{ failedAtMs: failedAt, mayHaveRun, canRetry: retryProblem === undefined, retryProblem },
      }
    }),
    counters: metrics?.counters,
  }
}

async function retryDeadLetter({ core, session, params, body }: SessionContext): Promise<Response> {
  const commandId = params['commandId'] ?? ''
  const letter = (await session.deadLetters()).find((one) => one.commandId === commandId)
  if (letter === undefined) throw new ProblemError('dead_letter_not_found')
  const problem = retryProblemOf(letter, core.options)
  if (problem !== undefined) throw new ProblemError(problem)
  const { commandType: name, mayHaveRun } = letter
  const evenIfItMayHaveRun = body['evenIfItMayHaveRun'] === true
  if (mayHaveRun && !evenIfItMayHaveRun) throw new ProblemError('call_may_have_run')
  const { output, exitCode, metadata } = await session.retryDeadLetter(commandId, { evenIfItMayHaveRun })
  return json(200, { name, output, exitCode, metadata })
}

/** Returns why the call of a dead letter cannot be retried through the server, whatever the client confirms. */
function retryProblemOf(
  { commandType, payload, fromLog }: DeadLetter,
  { hostTools, session }: ServerOptions,
): RetryProblem | undefined {
  // The approval was for one call. A second one needs the permission of the host.
  if (!hostTools?.includes(commandType)) return 'host_tool_disabled'
  // Any process that can write to the store could have written the letter.
  if (fromLog === true && session?.trustStore !== true) return 'dead_letter_from_log'
  return payload === undefined ? 'dead_letter_without_arguments' : undefined
}
