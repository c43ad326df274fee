import { resolve } from 'node:path'
import type { ServeEvent } from '../../agent/dir/index.js'
import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { RefusedAsks } from '../headless/refused-asks.js'
import { requireModel } from '../headless/require-model.js'
import { type Io, write } from '../io.js'
import { readDuration } from '../setup/duration.js'
import { prepare } from '../setup/prepare.js'
import { sessionFlags } from '../setup/session-flags.js'
import { colorsFor } from '../terminal/colors.js'
import { safeJson, safeLine } from '../terminal/safe-text.js'

export const command: Command = {
  usage: ['AGENT-DIR', 'AGENT-DIR --run SCHEDULE'],
  about: `Opens a session for each enabled schedule of the directory and fires it when it is due, until it is told to stop (Ctrl-C): then what is
at work may finish. Nothing starts unless all of it is in order. What needs a person is refused and reported.`,
  options: [
    { name: 'run', value: 'schedule', repeatable: true, summary: 'fire this schedule now, and end' },
    { name: 'reload', summary: 'look for changes of the directory, and go on with them' },
    { name: 'time-zone', value: 'zone', summary: 'of schedules that name none; UTC when left out' },
    {
      name: 'drain',
      value: 'duration',
      summary: 'how long fires at work may go on after the stop; 30s when left out',
    },
    { name: 'json', summary: 'everything that happens as lines of JSON' },
    ...sessionFlags.filter(({ name }) => !['session', 'continue', 'agent'].includes(name)),
  ],
  examples: [
    { line: 'capstan serve agents/release', says: 'until Ctrl-C' },
    { line: 'capstan serve agents/release --run daily', says: 'one fire, now' },
  ],
  async run(args, io) {
    const [given] = args.positionals
    if (given === undefined) throw new UsageError('Which directory?', 'Write: capstan serve AGENT-DIR')
    const prepared = await prepare(args, io)
    try {
      for (const warning of prepared.warnings) await write(io.stderr, `warning: ${safeLine(warning, 500)}\n`)
      return await serve(args, io, given, prepared)
    } finally {
      await prepared.close()
    }
  },
}

async function serve(
  args: Args,
  io: Io,
  directory: string,
  prepared: Awaited<ReturnType<typeof prepare>>,
): Promise<number> {
  const { agent, workspace, options, model } = prepared
  const { loadAgentDir } = await import('../../agent/dir/index.js')
  const path = resolve(io.cwd, directory)
  const { config } = await loadAgentDir(path, { env: io.env, workspace })
  const refused = new RefusedAsks()
  // A model that the directory itself declares goes before whatever the machine offers.
  const ownModel = args.value('model') === undefined && config?.['defaultModel'] !== undefined
  if (!ownModel) requireModel(prepared, io)
  const { model: chosen, ...rest } = options
  const drain = args.value('drain')
  const timeZone = args.value('time-zone')
  if (!ownModel && model.says !== undefined) await write(io.stderr, `${safeLine(model.says, 500)}\n`)
  const teller = createTeller(args, io, refused)
  const served = await agent.serveAgentDir(path, workspace, {
    ...rest,
    ...(!ownModel && chosen !== undefined && { model: chosen }),
    onAsk: refused.handler,
    onEvent: teller.tell,
    reload: args.has('reload'),
    ...(timeZone !== undefined && { timeZone }),
    ...(drain !== undefined && { drainTimeoutMs: readDuration('drain', drain) }),
  })
  const wanted = args.values('run')
  try {
    for (const name of wanted) {
      if (io.signal.aborted) break
      await served.runNow(name)
    }
    if (wanted.length === 0) await untilStopped(io.signal)
  } finally {
    await served.stop()
    await teller.done()
  }
  if (wanted.length === 0) return exitCodes.done
  if (teller.failed()) return exitCodes.failed
  return refused.calls.length > 0 ? exitCodes.incomplete : exitCodes.done
}

/** Says on standard output what happens, in order. */
function createTeller(
  args: Args,
  io: Io,
  refused: RefusedAsks,
): { tell(event: ServeEvent): void; done(): Promise<void>; failed(): boolean } {
  const { bold, dim, red, yellow, green } = colorsFor(io, 'stdout')
  let writing = Promise.resolve()
  let failures = 0
  /** So many refusals were told already. */
  let toldRefusals = 0
  const line = (text: string): void => {
    writing = writing.then(() => write(io.stdout, `${text}\n`))
  }
  const told = (event: ServeEvent): string | undefined => {
    switch (event.type) {
      case 'serving':
        return dim(`serving ${event.schedules.map((name) => safeLine(name)).join(', ') || 'no schedule'}`)
      case 'schedule_fired':
        return `${bold(safeLine(event.schedule))} ${dim(`fired, run ${event.runId}`)}`
      case 'schedule_ended': {
        const { report } = event
        const name = bold(safeLine(report.schedule))
        if (report.status === 'completed')
          return `${name} ${green('completed')}: ${safeLine(report.result.text, 1_000)}`
        if (report.status === 'skipped') return `${name} ${dim(`skipped (${report.reason})`)}`
        const why = report.error instanceof Error ? report.error.message : String(report.error)
        return `${name} ${red(report.status)}: ${safeLine(why, 1_000)}`
      }
      case 'reloaded':
        return dim(
          `reloaded: ${[...event.added, ...event.changed, ...event.removed].map((name) => safeLine(name)).join(', ')}`,
        )
      case 'reload_failed':
        return red(safeLine(event.message, 2_000))
      // What is odd about rules, servers and files is found out when a session is at work.
      case 'schedule_event':
        return event.event.type === 'notice'
          ? yellow(`${safeLine(event.schedule)}: ${safeLine(event.event.message, 500)}`)
          : undefined
      case 'notice': {
        const whose = event.schedule === undefined ? '' : `${safeLine(event.schedule)}: `
        return yellow(`${whose}${safeLine(event.message, 500)}`)
      }
      case 'stopped':
        return dim('stopped')
      default:
        return undefined
    }
  }
  return {
    tell(event) {
      if (
        event.type === 'schedule_ended' &&
        (event.report.status === 'failed' || event.report.status === 'cancelled')
      )
        failures++
      const text = args.has('json') ? safeJson(event) : told(event)
      if (text !== undefined) line(text)
      if (event.type !== 'schedule_ended' || args.has('json')) return
      const refusals = refused.report(toldRefusals)
      toldRefusals = refused.calls.length
      if (refusals !== '') line(yellow(refusals))
    },
    done: () => writing,
    failed: () => failures > 0,
  }
}

function untilStopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
