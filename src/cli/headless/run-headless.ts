import type { AgentEvent } from '../../loop/events.js'
import type { SessionOptions } from '../../session/options.js'
import type { Session } from '../../session/session.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Args } from '../args.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { hintForCode } from '../failure.js'
import { type Io, write } from '../io.js'
import { readBudget } from '../setup/budget.js'
import { type Prepared, prepare, warningsOf } from '../setup/prepare.js'
import { colorsFor } from '../terminal/colors.js'
import { safeJson, safeLine, safeText } from '../terminal/safe-text.js'
import { Progress } from './progress.js'
import { RefusedAsks } from './refused-asks.js'
import { requireModel } from './require-model.js'
import { type RunReport, runReport } from './run-result.js'

export type OutputFormat = 'text' | 'json' | 'stream-json'

/** Sends one prompt and prints the result. Calls that need an approval are rejected and reported. */
export async function runHeadless(args: Args, io: Io, prompt: string, format: OutputFormat): Promise<number> {
  const progress = new Progress(io, detailFor(args, io, format))
  const prepared = await prepare(args, io)
  try {
    const refused = new RefusedAsks()
    const session = await prepared.open({
      onAsk: refused.handler,
      ...verifyOption(args),
      ...goalOption(args),
    })
    requireModel(prepared, io)
    const warnings = warningsOf(prepared, session)
    for (const warning of warnings) await progress.warn(warning)
    for (const note of prepared.notes) await progress.note(note)
    const hints = new HintCollector()
    const startedAt = performance.now()
    const last = await follow(session, prepared, prompt, format, io, async (event) => {
      hints.add(event)
      // Sessions report warnings about rules, servers and files once they run.
      if (event.type === 'notice') warnings.push(event.message)
      await progress.event(event)
    })
    const report = runReport({
      last,
      sessionId: session.sessionId,
      model: prepared.model.name,
      refused: refused.calls,
      warnings,
      durationMs: Math.round(performance.now() - startedAt),
      stoppedBy: io.signal.aborted ? String(io.signal.reason) : undefined,
    })
    await printReport(report, refused, format, progress, io)
    if (format === 'text') {
      for (const hint of hints.hints()) await progress.note(`hint: ${hint}`)
      const isAskable =
        prepared.store !== undefined && refused.calls.some(({ instead }) => instead !== undefined)
      if (isAskable)
        await progress.note(`hint: to approve calls in a terminal: capstan --session ${session.sessionId}`)
    }
    return report.exitCode
  } finally {
    await prepared.close()
  }
}

async function follow(
  session: Session,
  prepared: Prepared,
  prompt: string,
  format: OutputFormat,
  io: Io,
  onEvent: (event: AgentEvent) => Promise<void>,
): Promise<AgentEvent | undefined> {
  const asLine = async (value: object): Promise<void> => {
    if (format === 'stream-json') await write(io.stdout, `${safeJson(value)}\n`)
  }
  await asLine({
    type: 'session',
    sessionId: session.sessionId,
    workspace: session.workspace,
    model: prepared.model.name,
    stored: prepared.store !== undefined,
  })
  for (const message of warningsOf(prepared, session))
    await asLine({ type: 'notice', source: 'session', message })
  let last: AgentEvent | undefined
  for await (const event of await session.stream({ prompt, signal: io.signal })) {
    last = event
    await asLine(event)
    await onEvent(event)
  }
  return last
}

async function printReport(
  report: RunReport,
  refused: RefusedAsks,
  format: OutputFormat,
  progress: Progress,
  io: Io,
): Promise<void> {
  if (format !== 'text') {
    await write(io.stdout, `${safeJson(report)}\n`)
    return
  }
  const { red, yellow } = colorsFor(io, 'stderr')
  const answer = safeText(report.text).trimEnd()
  if (answer !== '') await write(io.stdout, `${answer}\n`)
  if (report.error !== undefined) {
    await write(io.stderr, `${red('capstan:')} ${safeLine(report.error.message, 2_000)}\n`)
    for (const hint of hintsFor(report)) await progress.note(`hint: ${hint}`)
  }
  if (report.finish === 'length' || report.finish === 'content_filter')
    await progress.warn(`the answer was cut off (${report.finish})`)
  if (report.verification !== undefined && report.verification.status !== 'passed')
    await progress.warn(
      `not verified: ${report.verification.failed} failed, ${report.verification.pending} not run`,
    )
  if (report.goal !== undefined && !report.goal.met)
    await progress.warn(
      `the goal is not reached (${report.goal.reason})${report.goal.detail === undefined ? '' : `: ${report.goal.detail}`}`,
    )
  const refusals = refused.report()
  if (refusals !== '') await write(io.stderr, `${yellow(refusals)}\n`)
}

function hintsFor({ exitCode, sessionId, error }: RunReport): string[] {
  const byCode = hintForCode(error?.code)
  const canContinue = exitCode === exitCodes.limit || exitCode === exitCodes.cancelled
  return [
    ...(byCode === undefined ? [] : [byCode]),
    ...(canContinue ? [`Continue with: capstan run --session ${sessionId} "continue"`] : []),
  ]
}

function detailFor(args: Args, io: Io, format: OutputFormat): 'quiet' | 'plain' | 'full' {
  if (args.has('quiet')) return 'quiet'
  return args.has('verbose') || (io.isTTY.stderr && format === 'text') ? 'full' : 'plain'
}

function verifyOption(args: Args): SessionOptions {
  return args.has('verify') ? { verify: { presets: true } } : {}
}

function goalOption(args: Args): SessionOptions {
  const description = args.value('goal')
  const names = ['check', 'goal-rounds', 'goal-time', 'goal-cost']
  if (description === undefined) {
    const odd = names.find((name) => args.values(name).length > 0)
    if (odd !== undefined) throw new UsageError(`--${odd} needs --goal.`)
    return {}
  }
  const check = args.values('check')
  const cost = args.value('goal-cost')
  const budget = cost === undefined ? undefined : readBudget(cost)
  if (budget?.unit === 'tokens') throw new UsageError('--goal-cost takes an amount in dollars, such as 2usd.')
  return {
    goal: {
      description,
      ...(check.length > 0 && { check }),
      ...omitUndefined({
        maxRounds: args.count('goal-rounds'),
        maxTimeMs: args.duration('goal-time'),
        maxCostUsd: budget?.limit,
      }),
    },
  }
}

/** Collects hints about calls that failed for a reason that rules cannot change. Each hint is printed once. */
class HintCollector {
  readonly #hints = new Set<string>()

  add(event: AgentEvent): void {
    if (event.type !== 'tool_end') return
    const { code, network_refused: networkRefused } = event.metadata
    if (code === 'outside_grant') this.#hints.add(hints.outsideGrant)
    if (networkRefused === true) this.#hints.add(hints.network)
  }

  hints(): readonly string[] {
    return [...this.#hints]
  }
}

const hints = {
  network: 'sandboxed commands can connect only to hosts that you allow: --allow-host HOST',
  outsideGrant: 'a session works in its own directory; use -C DIR to work in another',
} as const
