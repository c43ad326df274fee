import type { GateParts, LaneCall } from '../../loop/gate-parts.js'
import { QueueError } from '../../queue/errors.js'
import type {
  Completion,
  DeadLetter,
  ExternalTask,
  QueueDoor,
  QueueMetrics,
  QueueStats,
  ServeQueueOptions,
  WorkerStreams,
} from '../../queue/index.js'
import { laneNames, laneOfKind, readHandler, readLane } from '../../queue/lane.js'
import type { LaneQueue, RunHere } from '../../queue/lane-queue.js'
import type { Envelope } from '../../tool/envelope.js'
import type { SessionCore } from '../core.js'
import type { EngineParts } from '../engine-parts.js'
import { hostTools } from '../host-tools.js'
import type { SessionPart } from '../part.js'

/** The lanes of a session: nothing is loaded before a call passes, or somebody asks. */
const queuePart: SessionPart<SessionQueue> = {
  name: 'queue',
  make: (core) => new SessionQueue(core),
  close: (queue) => queue.close(),
}

/** The step of the gate; absent in a session without lanes. Calls of subagents pass the lanes of the session they work for. */
export function laneFor({
  parent,
  options,
  part,
}: Pick<EngineParts, 'parent' | 'options' | 'part'>): GateParts['lane'] {
  if (parent?.lane !== undefined) return parent.lane
  if (options.queueConfig === undefined) return undefined
  return (call, run) => part(queuePart).pass(call, run)
}

/** Throws in a session that has none. */
export function queueOf(core: SessionCore): SessionQueue {
  core.assertOpen()
  if (core.parts.options.queueConfig !== undefined) return core.part(queuePart)
  throw new QueueError(
    'queue_not_configured',
    'This session has no lane queue: give it the option queueConfig, {} is enough.',
  )
}

/** Tools that work on the session itself, or make calls of other tools, which pass the lanes one by one. */
const sessionTools: ReadonlySet<string> = new Set([
  ...['batch', 'program', 'task', 'parallel_task', 'Skill', 'skill', 'search_skills'],
  ...['todo', 'question', 'tool_search', 'generate_object'],
])

/** Connects the lanes with one session. */
class SessionQueue {
  readonly #core: SessionCore
  #loading: Promise<LaneQueue> | undefined
  #queue: LaneQueue | undefined
  readonly #doors = new Set<QueueDoor>()
  readonly #detach = new Set<() => void>()
  #workers = 0

  constructor(core: SessionCore) {
    this.#core = core
  }

  async pass(call: LaneCall, run: RunHere): Promise<Envelope> {
    const { tool, args, origin, signal, starting } = call
    if (sessionTools.has(tool.name)) return run()
    const queue = this.#queue ?? (await this.#load())
    const lane = queue.toolLanes.get(tool.name) ?? laneOfKind(tool.kind)
    const staysHere = tool.mcp !== undefined || hostTools.get(tool.name) === tool
    const urgency = laneNames.indexOf(lane)
    return queue.pass(
      {
        toolName: tool.name,
        args,
        lane,
        idempotent: tool.idempotent,
        staysHere,
        // The host's own calls go one step sooner: somebody is waiting for just this one.
        priority: origin === 'host' ? urgency - 1 : urgency,
        starting,
        ...(signal !== undefined && { signal }),
      },
      run,
    )
  }

  async setHandler(lane: unknown, handler: unknown): Promise<void> {
    const [known, read] = [readLane(lane), readHandler(handler)]
    const queue = await this.#load()
    queue.setHandler(known, read)
  }

  async pending(): Promise<(ExternalTask & { readonly id: string })[]> {
    const tasks = (await this.#queue?.engine.board.pending()) ?? []
    return tasks.map((task) => ({ ...task, id: task.taskId }))
  }

  async complete(taskId: string, completion: Completion): Promise<boolean> {
    const { readCompletion } = await import('../../queue/worker-result.js')
    const read = readCompletion(completion)
    return (await this.#queue?.complete(taskId, read)) ?? false
  }

  async stats(): Promise<QueueStats> {
    return (await this.#load()).stats()
  }

  async metrics(): Promise<QueueMetrics | null> {
    return (await this.#load()).metrics()
  }

  async deadLetters(): Promise<DeadLetter[]> {
    return this.#queue?.deadLetters?.list() ?? []
  }

  /** For the host to make its call again: it is taken away, and nobody else gets it. */
  takeDeadLetter(commandId: string, { evenIfItMayHaveRun = false }): DeadLetter {
    const letters = this.#queue?.deadLetters
    const letter = letters?.get(commandId)
    if (letter === undefined)
      throw new QueueError(
        'queue_dead_letter',
        `There is no dead letter '${commandId}'. deadLetters() lists them.`,
      )
    if (letter.mayHaveRun && !evenIfItMayHaveRun)
      throw new QueueError(
        'queue_dead_letter',
        `'${commandId}' may have run already, and running "${letter.commandType}" again could do its work twice. Look at what it did, then say evenIfItMayHaveRun: true.`,
      )
    letters?.take(commandId)
    return letter
  }

  async serve(options: ServeQueueOptions): Promise<QueueDoor> {
    const { serveHttp } = await import('../../queue/serve/http.js')
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
    const { serveStream } = await import('../../queue/serve/stream.js')
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

  #load(): Promise<LaneQueue> {
    this.#loading ??= this.#make()
    return this.#loading
  }

  async #make(): Promise<LaneQueue> {
    const core = this.#core
    const [{ LaneQueue }, { LocalEngine }, { readQueueConfig }] = await Promise.all([
      import('../../queue/lane-queue.js'),
      import('../../queue/local-engine.js'),
      import('../../queue/config.js'),
    ])
    const { queueConfig = {} } = core.parts.options
    const settings = readQueueConfig(queueConfig)
    const engine = settings.engine ?? new LocalEngine(settings, core.newId)
    this.#queue = new LaneQueue({
      sessionId: core.parts.sessionId,
      settings,
      engine,
      emit: core.emit,
      now: core.now,
    })
    return this.#queue
  }
}
