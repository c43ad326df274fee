import type { FeatureContext } from '../feature/feature-context.js'
import { readable } from '../feature/option-check.js'
import type { SessionFeature } from '../feature/session-feature.js'
import type { GateParts, LaneCall } from '../loop/gate-parts.js'
import type { Envelope } from '../tool/envelope.js'
import type { ToolResult } from '../tool/tool-result.js'
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
import { laneNames, laneOfKind, readHandler, readLane } from './lane.js'
import type { LaneQueue, RunHere } from './lane-queue.js'

export type QueueFeatureOptions = {
  /**
   * Gives the session lanes in which its calls wait, and from which workers can take them. Absent: calls run at once.
   */
  readonly queueConfig?: QueueConfig
}

type QueueSession = FeatureContext<QueueFeatureOptions>

/** The lanes that calls wait in. Nothing is loaded before the first call passes a lane. */
export const queueFeature: SessionFeature<SessionQueue, QueueFeatureOptions> = {
  name: 'queue',
  create: (session) => new SessionQueue(session),
  close: (queue) => queue.close(),
  options: { queueConfig: readable(readQueueConfig) },
  gate(session) {
    const lane = laneOf(session)
    return lane && { lane }
  },
}

/** The lane step of the gate. Calls of subagents pass the lanes of the session they work for. */
function laneOf(session: QueueSession): GateParts['lane'] {
  const parent = session.parent && laneOf(session.parent.session)
  if (parent !== undefined) return parent
  if (session.options.queueConfig === undefined) return undefined
  return (call, run) => session.use(queueFeature).pass(call, run)
}

/** Whether calls pass lanes: the session was created with `queueConfig`. */
export function hasQueue({ options }: QueueSession): boolean {
  return options.queueConfig !== undefined
}

/** Throws `QueueError` in a session without lanes. */
export function queueOf(session: QueueSession): SessionQueue {
  session.assertOpen()
  if (hasQueue(session)) return session.use(queueFeature)
  throw new QueueError(
    'queue_not_configured',
    'This session has no lane queue: give it the option queueConfig, {} is enough.',
  )
}

/** Makes the call of a dead letter again, as a direct call of the host, and removes the letter. */
export async function retryDeadLetter(
  session: QueueSession,
  commandId: string,
  options: { readonly evenIfItMayHaveRun?: boolean },
): Promise<ToolResult> {
  const { commandType, payload } = queueOf(session).takeDeadLetter(commandId, options)
  return session.callTool(commandType, payload)
}

/** Tools that work on the session itself, or make calls of other tools, which pass the lanes one by one. */
const sessionTools: ReadonlySet<string> = new Set([
  ...['batch', 'program', 'task', 'parallel_task', 'Skill', 'skill', 'search_skills'],
  ...['todo', 'question', 'tool_search', 'generate_object'],
])

/** Connects the lanes with one session. */
class SessionQueue {
  readonly #session: QueueSession
  #loading: Promise<LaneQueue> | undefined
  #queue: LaneQueue | undefined
  readonly #doors = new Set<QueueDoor>()
  readonly #detach = new Set<() => void>()
  #workers = 0

  constructor(session: QueueSession) {
    this.#session = session
  }

  async pass(call: LaneCall, run: RunHere): Promise<Envelope> {
    const { tool, args, origin, signal, starting } = call
    if (sessionTools.has(tool.name)) return run()
    const queue = this.#queue ?? (await this.#load())
    const lane = queue.toolLanes.get(tool.name) ?? laneOfKind(tool.kind)
    const staysHere = tool.mcp !== undefined || this.#session.isHostTool(tool)
    const urgency = laneNames.indexOf(lane)
    return queue.pass(
      {
        toolName: tool.name,
        args,
        lane,
        idempotent: tool.idempotent,
        staysHere,
        // The host's own calls have a higher priority: their caller waits for just this one.
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
    queue.setHandler(known, read)
  }

  async pending(): Promise<(ExternalTask & { readonly id: string })[]> {
    const tasks = (await this.#queue?.engine.board.pending()) ?? []
    return tasks.map((task) => ({ ...task, id: task.taskId }))
  }

  async complete(taskId: string, completion: Completion): Promise<boolean> {
    const { readCompletion } = await import('./worker-result.js')
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

  /** Removes a dead letter for the host to make its call again. */
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

  #load(): Promise<LaneQueue> {
    this.#loading ??= this.#make()
    return this.#loading
  }

  async #make(): Promise<LaneQueue> {
    const session = this.#session
    const [{ LaneQueue }, { LocalEngine }] = await Promise.all([
      import('./lane-queue.js'),
      import('./local-engine.js'),
    ])
    const { queueConfig = {} } = session.options
    const settings = readQueueConfig(queueConfig)
    const engine = settings.engine ?? new LocalEngine(settings, () => session.newId())
    this.#queue = new LaneQueue({
      sessionId: session.sessionId,
      settings,
      engine,
      emit: (event) => session.emit(event),
      now: () => session.now(),
    })
    return this.#queue
  }
}
