import type { FeatureContext } from '../feature/feature-context.js'
import type { LaneCall } from '../loop/gate-parts.js'
import type { Envelope } from '../tool/envelope.js'
import { messageOf } from '../tool/errors.js'
import { laneNames, laneOfKind } from '../tool/lane.js'
import { readQueueConfig } from './config.js'
import { QueueError } from './errors.js'
import type {
  Completion,
  DeadLetter,
  ExternalTask,
  QueueConfig,
  QueueDoor,
  QueueMetrics,
  QueueStats,
  ServeQueueOptions,
  WorkerStreams,
} from './index.js'
import { readHandler, readLane } from './lane.js'
import type { LaneQueue, RunHere } from './lane-queue.js'
import type { LocalEngine } from './local-engine.js'
import type { QueueLog } from './queue-log.js'
import type { RestoredTasks } from './restored-tasks.js'

export type QueueFeatureOptions = {
  /** Adds lanes to the session, in which its calls wait and from which workers can take them. Default: none. */
  readonly queueConfig?: QueueConfig
}

export type QueueSession = FeatureContext<QueueFeatureOptions & { readonly trustStore?: boolean }>

/** Options of `retryDeadLetter`. */
export type RetryDeadLetterOptions = {
  /** Required if earlier attempts may have done some of the work and the tool was not declared idempotent. */
  readonly evenIfItMayHaveRun?: boolean
  /**
   * Required for a letter with `fromLog`, unless the session has `trustStore`: any process that can write to the
   * store could have written it, and the call has the privileges of the host.
   */
  readonly evenIfFromLog?: boolean
}

/** Tools that work on the session itself, or that call other tools, each of which enters a lane on its own. */
const sessionTools: ReadonlySet<string> = new Set([
  ...['batch', 'program', 'task', 'parallel_task', 'Skill', 'skill', 'search_skills'],
  ...['todo', 'question', 'tool_search', 'generate_object'],
])

/** Connects the lanes to one session. */
export class SessionQueue {
  readonly #session: QueueSession
  #loading: Promise<LaneQueue> | undefined
  #queue: LaneQueue | undefined
  #log: QueueLog | undefined
  #restored: RestoredTasks | undefined
  readonly #doors = new Set<QueueDoor>()
  readonly #detach = new Set<() => void>()
  #workers = 0

  constructor(session: QueueSession) {
    this.#session = session
  }

  async pass(call: LaneCall, run: RunHere): Promise<Envelope> {
    const { tool, toolCallId, args, origin, signal, starting } = call
    if (sessionTools.has(tool.name)) return run()
    const queue = this.#queue ?? (await this.#load())
    const lane = queue.toolLanes.get(tool.name) ?? laneOfKind(tool.kind)
    const staysHere = tool.mcp !== undefined || this.#session.tools.isHostTool(tool)
    const urgency = laneNames.indexOf(lane)
    return queue.pass(
      {
        toolName: tool.name,
        callId: toolCallId,
        args,
        lane,
        idempotent: tool.idempotent,
        staysHere,
        // The host's own calls have a higher priority, because the host waits for exactly this call.
        priority: origin === 'host' ? urgency - 1 : urgency,
        starting,
        signal,
      },
      run,
    )
  }

  async setHandler(lane: unknown, handler: unknown): Promise<void> {
    const [known, read] = [readLane(lane), readHandler(handler)]
    const queue = await this.#load()
    await this.#log?.handler(known, read)
    queue.setHandler(known, read)
  }

  async pending(): Promise<(ExternalTask & { readonly id: string })[]> {
    const queue = await this.#known()
    const tasks = (await queue?.engine.board.pending()) ?? []
    return tasks.map((task) => ({ ...task, id: task.taskId }))
  }

  async complete(taskId: string, completion: Completion): Promise<boolean> {
    const { readCompletion } = await import('./worker-result.js')
    const read = readCompletion(completion)
    return (await (await this.#known())?.complete(taskId, read)) ?? false
  }

  async stats(): Promise<QueueStats> {
    return (await this.#load()).stats()
  }

  async metrics(): Promise<QueueMetrics | null> {
    return (await this.#load()).metrics()
  }

  async deadLetters(): Promise<DeadLetter[]> {
    return (await this.#known())?.deadLetters?.list() ?? []
  }

  /** Removes a dead letter, so that the host can make its call again. */
  async takeDeadLetter(commandId: string, options: RetryDeadLetterOptions): Promise<DeadLetter> {
    const { evenIfItMayHaveRun = false, evenIfFromLog = this.#session.options.trustStore === true } = options
    const letters = (await this.#known())?.deadLetters
    const letter = letters?.get(commandId)
    if (letter === undefined)
      throw new QueueError(
        'queue_dead_letter',
        `There is no dead letter '${commandId}'. deadLetters() lists them.`,
      )
    if (letter.mayHaveRun && !evenIfItMayHaveRun)
      throw new QueueError(
        'queue_dead_letter',
        `'${commandId}' may have run already, and running "${letter.commandType}" again could do its work twice. Check what it did, then set evenIfItMayHaveRun: true.`,
      )
    if (letter.fromLog && !evenIfFromLog)
      throw new QueueError(
        'queue_dead_letter',
        `'${commandId}' comes from the log of the session, and its call would have the privileges of the host. Check its payload, then set evenIfFromLog: true; or set trustStore: true for a store that only the host can write to.`,
      )
    if (letter.payload === undefined)
      throw new QueueError(
        'queue_dead_letter',
        `The arguments of '${commandId}' were not saved, because they are too long or contain a secret. Make the call yourself: session.tool('${letter.commandType}', …).`,
      )
    letters?.take(commandId)
    // If the process ends after this point, the call may or may not have been made; a later process does not repeat
    // it.
    await this.#log?.removed(commandId)
    return letter
  }

  /** Discards the restored calls: they have been answered without their tasks. */
  forgetCalls(): void {
    this.#restored?.forgetCalls()
  }

  async serve(options: ServeQueueOptions): Promise<QueueDoor> {
    const { serveHttp } = await import('./serve/http.js')
    const queue = await this.#load()
    const opened = await serveHttp(queue.engine.board, options)
    const door: QueueDoor = {
      url: opened.url,
      close: async () => {
        this.#doors.delete(door)
        await opened.close()
      },
    }
    this.#doors.add(door)
    return door
  }

  async attach(streams: WorkerStreams): Promise<() => void> {
    const { serveStream } = await import('./serve/stream.js')
    const queue = await this.#load()
    const end = serveStream(queue.engine.board, streams, `stream ${++this.#workers}`)
    this.#detach.add(end)
    return () => {
      this.#detach.delete(end)
      end()
    }
  }

  async close(): Promise<void> {
    for (const end of this.#detach) end()
    await Promise.all([...this.#doors].map((door) => door.close()))
    const queue = await this.#loading?.catch(() => undefined)
    await queue?.close()
  }

  /** The queue, if it was used before or an earlier process has left something in it. */
  async #known(): Promise<LaneQueue | undefined> {
    return this.#session.restored?.queue === undefined ? this.#queue : this.#load()
  }

  #load(): Promise<LaneQueue> {
    this.#loading ??= this.#make()
    return this.#loading
  }

  async #make(): Promise<LaneQueue> {
    const session = this.#session
    const [{ LaneQueue }, { LocalEngine }, { QueueLog }] = await Promise.all([
      import('./lane-queue.js'),
      import('./local-engine.js'),
      import('./queue-log.js'),
    ])
    const { sessionId, redactor, options } = session
    const { recorder } = session.log
    const settings = readQueueConfig(options.queueConfig ?? {})
    const log = recorder && new QueueLog({ note: (note) => recorder.note(note), redact: redactor.record })
    const engine = settings.engine ?? new LocalEngine(settings, () => session.newId(), log)
    const restored = engine instanceof LocalEngine ? await this.#restore(engine) : undefined
    const queue = new LaneQueue({
      sessionId,
      settings,
      engine,
      log,
      savesTasks: engine instanceof LocalEngine,
      restored,
      ids: session.restored?.queue?.ids,
      onError: (error) => session.emit({ type: 'notice', source: 'store', message: messageOf(error) }),
      emit: (event) => session.emit(event),
      now: () => session.now(),
    })
    await this.#restoreSettings(queue)
    this.#log = log
    this.#restored = restored
    this.#queue = queue
    return queue
  }

  /** Restores the tasks of an earlier process. */
  async #restore({ board }: LocalEngine): Promise<RestoredTasks | undefined> {
    const { sessionId, restored } = this.#session
    const { conversation } = this.#session.log
    if (restored?.queue === undefined) return undefined
    const { RestoredTasks } = await import('./restored-tasks.js')
    const lastMessageId = conversation.kept.at(-1)?.id
    return new RestoredTasks({ sessionId, board, state: restored.queue, lastMessageId })
  }

  async #restoreSettings(queue: LaneQueue): Promise<void> {
    const { restored, options } = this.#session
    if (restored?.queue === undefined) return
    const { restoredHandlers, restoredLetters } = await import('./restored-settings.js')
    const { queueConfig = {}, trustStore = false } = options
    for (const [lane, handler] of restoredHandlers(restored.queue, queueConfig, trustStore))
      queue.setHandler(lane, handler)
    for (const letter of restoredLetters(restored.queue)) queue.deadLetters?.add(letter)
    queue.continueOrphans(trustStore)
  }
}
