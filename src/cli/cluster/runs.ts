import type { RunClient } from '../../cluster/run-client.js'
import { type QueuedRun, type QueuedRunState, queuedRunStates } from '../../run-queue/run-queue.js'
import type { RunEvent } from '../../session/run-events.js'
import type { Action } from '../actions.js'
import type { Args } from '../args.js'
import { CommandLineError, UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { safeJson, safeLine, safeText } from '../terminal/safe-text.js'
import { timeText } from '../terminal/time-text.js'
import { cutTo } from '../terminal/width.js'
import { type Connected, clusterKeyOf, withCluster } from './connect.js'

/** Adds a run to the queue and prints its id. */
export const submitRun: Action = async (args, io) => {
  const prompt = args.required(0, 'PROMPT', 'Usage: capstan runs submit "PROMPT"')
  const notBefore = args.value('not-before')
  if (notBefore !== undefined && Number.isNaN(Date.parse(notBefore)))
    throw new UsageError(
      `--not-before takes a time such as 2030-01-31T06:00:00Z, not ${JSON.stringify(notBefore)}.`,
    )
  const priority = args.value('priority')
  if (priority !== undefined && !/^-?\d{1,7}$/.test(priority))
    throw new UsageError(`--priority takes a whole number, not ${JSON.stringify(priority)}.`)
  return withCluster(args, io, async (cluster) => {
    const { runId, sessionId } = await cluster.client.submit({
      prompt,
      sessionId: args.value('session'),
      workspace: args.value('workspace'),
      lane: args.value('lane'),
      priority: priority === undefined ? undefined : Number(priority),
      notBefore: notBefore === undefined ? undefined : new Date(notBefore),
      idempotencyKey: args.value('idempotency-key'),
      correlationId: io.env['CAPSTAN_CORRELATION_ID'] || undefined,
      traceparent: io.env['TRACEPARENT'] || undefined,
    })
    const text = args.has('json')
      ? safeJson({ runId, sessionId })
      : `${runId}  session ${safeLine(sessionId)}`
    await write(args.has('follow') ? io.stderr : io.stdout, `${text}\n`)
    return args.has('follow') ? follow(cluster, runId, args, io) : exitCodes.done
  })
}

/** Lists runs, newest first. */
export const listRuns: Action = async (args, io) =>
  withCluster(args, io, async ({ client }) => {
    const { runs, next } = await client.list({
      sessionId: args.value('session'),
      lane: args.value('lane'),
      states: args.has('state') ? args.values('state').map(stateOf) : undefined,
      limit: args.count('limit') ?? 20,
    })
    for (const run of runs) {
      const line = io.isTTY.stdout ? cutTo(lineOf(run), io.columns()) : lineOf(run)
      await write(io.stdout, `${args.has('json') ? safeJson(run) : line}\n`)
    }
    if (runs.length === 0 && !args.has('json')) await write(io.stderr, 'No runs.\n')
    if (next !== undefined && !args.has('json')) await write(io.stderr, '… and more (use --limit)\n')
    return exitCodes.done
  })

/** Prints a run and the calls that wait for an approval. */
export const showRun: Action = async (args, io) =>
  withRun(args, io, async (client, run) => {
    const approvals = await client.approvals(run.runId)
    const questions = await client.questions(run.runId)
    if (args.has('json')) {
      await write(io.stdout, `${safeJson({ ...run, approvals, questions })}\n`)
      return exitCodes.done
    }
    const error =
      run.error === undefined ? [] : [`error: ${safeLine(run.error.message, 500)} (${run.error.code})`]
    const waiting = approvals.map(
      ({ callId, toolName, args: given, reasons }) =>
        `waits for an approval: ${safeLine(callId)}  ${safeLine(toolName)} ${safeLine(given, 300)}\n  ${reasons.map((reason) => safeLine(reason, 300)).join('\n  ')}`,
    )
    const asked = questions.flatMap(({ questionId, questions: parts }) => [
      `waits for an answer: ${safeLine(questionId)}`,
      ...parts.map(({ question, options }) => {
        const choices = (options ?? []).map(({ label }) => safeLine(label, 100)).join(', ')
        return `  ${safeLine(question, 500)}${choices === '' ? '' : ` (${choices})`}`
      }),
    ])
    const text = [lineOf(run), `session: ${safeLine(run.sessionId)}`, ...error, ...waiting, ...asked]
    await write(io.stdout, `${text.join('\n')}\n`)
    return exitCodes.done
  })

/** Prints the answer of a run while it is written. */
export const followRun: Action = async (args, io) =>
  withRun(args, io, (_, { runId }, cluster) => follow(cluster, runId, args, io))

export const cancelRun: Action = async (args, io) =>
  withRun(args, io, async (client, { runId }) => {
    const outcome = await client.cancel(runId)
    if (outcome === 'ended') throw new CommandLineError(`The run ${runId} has ended already.`)
    return done(args, io, { runId, outcome }, `${runId}: ${outcome}`)
  })

export const steerRun: Action = async (args, io) => {
  const text = args.required(1, 'TEXT', 'capstan runs steer RUN "TEXT"')
  return withRun(args, io, async (client, { runId }) => {
    await client.steer(runId, text)
    return done(args, io, { runId }, `${runId}: the model reads it before its next answer`)
  })
}

/** Approves or rejects a call, or answers a question. The call can be omitted when only one waits. */
export const answerRun: Action = async (args, io) => {
  if (args.has('answer')) return answerQuestion(args, io)
  const given = args.value('decision')
  const decision = (['once', 'session', 'always', 'reject'] as const).find((one) => one === given)
  if (decision === undefined)
    throw new UsageError(
      'Missing option: --decision once|session|always|reject for a call, or --answer TEXT for a question',
      '"capstan runs show RUN" lists what waits.',
    )
  if (clusterKeyOf(io) === undefined)
    throw new UsageError(
      'CAPSTAN_CLUSTER_KEY is not set, so the workers would refuse the answer.',
      'Set it to the key that the workers have.',
    )
  return withRun(args, io, async (client, { runId }) => {
    const waiting = await client.approvals(runId)
    const [only] = waiting
    const callId = args.positionals[1] ?? (waiting.length === 1 ? only?.callId : undefined)
    if (callId === undefined)
      throw new CommandLineError(
        waiting.length === 0
          ? `No call of the run ${runId} waits for an approval.`
          : `${waiting.length} calls wait.`,
        '"capstan runs show RUN" lists the calls that wait.',
      )
    await client.answer(runId, callId, decision, args.value('message'))
    return done(args, io, { runId, callId, decision }, `${runId}: ${safeLine(callId)} ${decision}`)
  })
}

const answerQuestion: Action = async (args, io) =>
  withRun(args, io, async (client, { runId }) => {
    const answers = args.values('answer')
    const questionId = args.positionals[1] ?? (await client.questions(runId))[0]?.questionId
    await client.answerQuestion(
      runId,
      answers.map((text) => [text]),
      questionId,
    )
    return done(args, io, { runId, questionId, answers }, `${runId}: answered`)
  })

export const redriveRun: Action = async (args, io) =>
  withRun(args, io, async (client, { runId }) => {
    await client.redrive(runId)
    return done(args, io, { runId }, `${runId}: queued`)
  })

/** Finds the run of the first argument, which can be an abbreviated id. */
async function withRun(
  args: Args,
  io: Io,
  use: (client: RunClient, run: QueuedRun, cluster: Connected) => Promise<number>,
): Promise<number> {
  const given = args.required(0, 'RUN', '"capstan runs list" lists the runs.')
  return withCluster(args, io, async (cluster) => {
    const { client } = cluster
    const exact = await client.get(given)
    if (exact !== undefined) return use(client, exact, cluster)
    const { runs } = await client.list({ limit: 1_000 })
    const found = runs.filter(({ runId }) => runId.startsWith(given))
    const [run] = found
    if (run === undefined || found.length > 1)
      throw new CommandLineError(
        found.length === 0
          ? `There is no run ${JSON.stringify(given)}.`
          : `${found.length} runs begin with ${given}.`,
        '"capstan runs list" lists the runs.',
      )
    return use(client, run, cluster)
  })
}

async function follow({ client, queue }: Connected, runId: string, args: Args, io: Io): Promise<number> {
  const from = args.count('from', 0) ?? 0
  const run = await client.get(runId)
  if (run?.state === 'queued' && !args.has('json')) {
    const { nodes } = await queue.status()
    if (!nodes.some(({ lanes, isDraining }) => !isDraining && lanes.includes(run.lane)))
      await write(
        io.stderr,
        `No worker serves the lane ${JSON.stringify(safeLine(run.lane, 40))} now. The run starts when one does: capstan worker --lane ${safeLine(run.lane, 40)}\n`,
      )
  }
  let last: RunEvent | undefined
  let isOpenLine = false
  for await (const one of client.events(runId, { from, signal: io.signal })) {
    last = one
    const { event } = one
    if (args.has('json')) await write(io.stdout, `${safeJson(one)}\n`)
    else if (event.type === 'text_delta') {
      await write(io.stdout, safeText(event.text))
      isOpenLine = !event.text.endsWith('\n')
    } else if (event.type === 'confirmation_required')
      await write(
        io.stderr,
        `\n${safeLine(event.toolName)} waits for an approval: capstan runs answer ${runId} ${safeLine(event.toolId)} --decision once\n`,
      )
    else if (event.type === 'user_question')
      await write(
        io.stderr,
        `\n${event.questions.map(({ question }) => safeLine(question, 500)).join('\n')}\nanswer it with: capstan runs answer ${runId} --answer TEXT\n`,
      )
    else if (event.type === 'error') await write(io.stderr, `\nerror: ${safeLine(event.error, 1_000)}\n`)
  }
  if (isOpenLine) await write(io.stdout, '\n')
  if (io.signal.aborted) return exitCodes.cancelled
  if (last?.event.type === 'agent_end') return exitCodes.done
  if (last?.event.type === 'agent_cancelled') return exitCodes.cancelled
  const state = (await client.get(runId))?.state
  if (state === 'completed') return exitCodes.done
  return state === 'dead' ? exitCodes.incomplete : exitCodes.failed
}

async function done(args: Args, io: Io, value: object, text: string): Promise<number> {
  await write(io.stdout, args.has('json') ? `${safeJson(value)}\n` : `${safeLine(text, 500)}\n`)
  return exitCodes.done
}

function lineOf({ runId, state, lane, tenantId, submittedAtMs, prompt }: QueuedRun): string {
  const tenant = tenantId === undefined ? '' : `  ${safeLine(tenantId, 40)}`
  return `${safeLine(runId)}  ${state}  ${safeLine(lane, 40)}${tenant}  ${timeText(submittedAtMs)}  ${safeLine(prompt, 60)}`
}

function stateOf(given: string): QueuedRunState {
  const state = queuedRunStates.find((one) => one === given)
  if (state === undefined)
    throw new UsageError(`--state takes ${queuedRunStates.join(', ')}, not ${JSON.stringify(given)}.`)
  return state
}
