import { resolve } from 'node:path'
import type { AgentDirHandle, ScheduleStatus, ServeEvent } from '../../agent/dir/index.js'
import { messageOf } from '../../tool/errors.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { untilAborted } from '../../tool/unless-aborted.js'
import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { exitCodeMeanings, exitCodes } from '../exit-codes.js'
import { RefusedAsks } from '../headless/refused-asks.js'
import { requireModel } from '../headless/require-model.js'
import { type Io, write } from '../io.js'
import { prepare } from '../setup/prepare.js'
import { sessionFlags } from '../setup/session-flags.js'
import { type Colors, colorsFor } from '../terminal/colors.js'
import { safeJson, safeLine } from '../terminal/safe-text.js'

export const command: Command = {
  usage: ['AGENT_DIR', 'AGENT_DIR --run SCHEDULE'],
  description: `Opens a session for each enabled schedule and fires it when it is due, until Ctrl-C or SIGTERM. Running fires then get time to finish.
Nothing starts if the directory has a problem. Calls that need an approval are refused and reported.`,
  options: [
    { name: 'run', value: 'schedule', repeatable: true, summary: 'Fire this schedule now, then exit' },
    { name: 'reload', summary: 'Watch the directory and apply its changes' },
    {
      name: 'time-zone',
      value: 'zone',
      summary: 'Time zone of schedules that do not name one (default: UTC)',
    },
    {
      name: 'drain',
      value: 'duration',
      summary: 'Time for running fires to finish after the stop (default: 30s)',
    },
    {
      name: 'listen',
      value: 'port',
      summary: 'Accept webhooks on this port of 127.0.0.1: POST /v1/hooks/SCHEDULE',
    },
    {
      name: 'inspect',
      summary:
        'Serve the inspector with the schedules and their sessions, and print a link to standard error',
    },
    { name: 'json', summary: 'Print every event as a line of JSON' },
    ...sessionFlags.filter(({ name }) => !['session', 'continue', 'agent'].includes(name)),
  ],
  examples: [
    { line: 'capstan serve agents/release', comment: 'Run the schedules until Ctrl-C' },
    { line: 'capstan serve agents/release --run daily', comment: 'Fire one schedule now' },
  ],
  exitCodes: {
    1: 'a fire of --run failed',
    3: 'calls of a fire of --run were refused because no user could be asked',
    5: exitCodeMeanings[5],
  },
  async run(args, io) {
    const given = args.required(0, 'AGENT_DIR', 'Usage: capstan serve AGENT_DIR')
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
  if (args.has('inspect') && prepared.store === undefined)
    throw new UsageError('--inspect needs a session store.', 'Remove --store none.')
  const { loadAgentDir } = await import('../../agent/dir/index.js')
  const path = resolve(io.cwd, directory)
  const { config } = await loadAgentDir(path, { env: io.env, workspace })
  const refused = new RefusedAsks()
  // A model that the directory declares takes precedence over the models of this machine.
  const ownModel = args.value('model') === undefined && config?.['defaultModel'] !== undefined
  if (!ownModel) requireModel(prepared, io)
  if (!ownModel && model.note !== undefined) await write(io.stderr, `${safeLine(model.note, 500)}\n`)
  const printer = new ServePrinter(args, io, refused)
  const served = await agent.serveAgentDir(
    path,
    workspace,
    omitUndefined({
      ...options,
      model: ownModel ? undefined : options.model,
      onAsk: refused.handler,
      onEvent: (event: ServeEvent) => printer.print(event),
      reload: args.has('reload'),
      timeZone: args.value('time-zone'),
      drainTimeoutMs: args.duration('drain'),
    }),
  )
  const wanted = args.values('run')
  const hooks = await listenForHooks(args, (request) => served.webhook(request))
  const inspector = args.has('inspect') ? await inspect(io, served, prepared) : undefined
  if (!args.has('json')) await write(io.stderr, triggerLines(served.schedules(), hooks?.url))
  try {
    for (const name of wanted) {
      if (io.signal.aborted) break
      await served.runNow(name)
    }
    if (wanted.length === 0) await untilAborted(io.signal)
  } finally {
    await inspector?.close()
    await hooks?.close()
    await served.stop()
    await printer.done()
  }
  if (wanted.length === 0) return exitCodes.done
  if (printer.hasFailures) return exitCodes.failed
  return refused.calls.length > 0 ? exitCodes.incomplete : exitCodes.done
}

/**
 * Serves the inspector in addition to the schedules. Prints its link on standard error, because events are on standard
 * output.
 */
async function inspect(io: Io, served: AgentDirHandle, prepared: Awaited<ReturnType<typeof prepare>>) {
  const { agent, workspace, store, options } = prepared
  if (store === undefined) return undefined
  const { startInspector } = await import('../inspector/start-inspector.js')
  const { sessionStore: _, ...session } = options
  return startInspector(io, {
    ...{ port: 0, agent, store, session, workspaces: [workspace], agentDirs: [served] },
    isOpened: false,
    print: (_url, link) => write(io.stderr, `Inspect ${link}\n`),
  })
}

async function listenForHooks(args: Args, webhooks: (request: Request) => Promise<Response>) {
  if (args.value('listen') === undefined) return undefined
  const port = args.count('listen', 0)
  const { listen } = await import('../../server/index.js')
  const handler = async (request: Request): Promise<Response> =>
    new URL(request.url).pathname.startsWith('/v1/hooks/')
      ? webhooks(request)
      : new Response(null, { status: 404 })
  return listen(handler, { port, host: '127.0.0.1' })
}

/** Describes the triggers of each schedule. */
function triggerLines(schedules: readonly ScheduleStatus[], url: string | undefined): string {
  return schedules
    .map(({ name, cron, timeZone, triggers }) => {
      const how = [
        ...(cron === undefined ? [] : [`cron ${cron} (${timeZone})`]),
        ...triggers.map((each) => words[each]),
      ]
      const hook =
        triggers.includes('webhook') && url !== undefined
          ? `, ${url}/v1/hooks/${encodeURIComponent(name)}`
          : ''
      return `${safeLine(name)}: ${safeLine(how.join(', '))}${hook}\n`
    })
    .join('')
}

const words = { webhook: 'webhook', file: 'file changes', wake_up: 'wake-ups' } as const

/** Prints the events of a served directory on standard output, in order. */
class ServePrinter {
  readonly #args: Args
  readonly #io: Io
  readonly #refused: RefusedAsks
  readonly #colors: Colors
  #writing = Promise.resolve()
  #failures = 0
  /** How many rejected calls were printed. */
  #printedRefusals = 0

  constructor(args: Args, io: Io, refused: RefusedAsks) {
    this.#args = args
    this.#io = io
    this.#refused = refused
    this.#colors = colorsFor(io, 'stdout')
  }

  print(event: ServeEvent): void {
    const hasEnded = event.type === 'schedule_ended'
    if (hasEnded && (event.report.status === 'failed' || event.report.status === 'cancelled'))
      this.#failures++
    const isJson = this.#args.has('json')
    const text = isJson ? safeJson(event) : this.#text(event)
    if (text !== undefined) this.#line(text)
    if (!hasEnded || isJson) return
    const refusals = this.#refused.report(this.#printedRefusals)
    this.#printedRefusals = this.#refused.calls.length
    if (refusals !== '') this.#line(this.#colors.yellow(refusals))
  }

  /** Resolves when everything is written. */
  done(): Promise<void> {
    return this.#writing
  }

  get hasFailures(): boolean {
    return this.#failures > 0
  }

  #line(text: string): void {
    this.#writing = this.#writing.then(() => write(this.#io.stdout, `${text}\n`))
  }

  #text(event: ServeEvent): string | undefined {
    const { bold, dim, red, yellow, green } = this.#colors
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
        return `${name} ${red(report.status)}: ${safeLine(messageOf(report.error), 1_000)}`
      }
      case 'reloaded':
        return dim(
          `reloaded: ${[...event.added, ...event.changed, ...event.removed].map((name) => safeLine(name)).join(', ')}`,
        )
      case 'reload_failed':
        return red(safeLine(event.message, 2_000))
      // Sessions report warnings about rules, servers and files once they run.
      case 'schedule_event':
        return event.event.type === 'notice'
          ? yellow(`${safeLine(event.schedule)}: ${safeLine(event.event.message, 500)}`)
          : undefined
      case 'notice': {
        const schedule = event.schedule === undefined ? '' : `${safeLine(event.schedule)}: `
        return yellow(`${schedule}${safeLine(event.message, 500)}`)
      }
      case 'stopped':
        return dim('stopped')
      default:
        return undefined
    }
  }
}
