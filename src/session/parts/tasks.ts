import type { TaskNote } from '../../store/records.js'
import { type AgentDefinition, AgentNotFoundError } from '../../subagents/agent-definition.js'
import { defaultParallelTasks, defaultTaskTimeoutMs, Slots, TaskFamily } from '../../subagents/limits.js'
import { performTask, type TaskSession, type TaskWork } from '../../subagents/perform-task.js'
import { type SharedTokens, sharedBudget } from '../../subagents/shared-tokens.js'
import { TaskBoard } from '../../subagents/task-board.js'
import type { SubagentTaskSnapshot, TaskRecord } from '../../subagents/task-record.js'
import { arrivalText } from '../../subagents/task-text.js'
import type { UserMessage } from '../../tool/completion.js'
import { CapstanError, markErrorClass, messageOf } from '../../tool/errors.js'
import type { RuntimeTasks, TaskAgent, TaskOutcome, TaskRequest } from '../../tool/runtime.js'
import type { ChildTask } from '../child.js'
import type { SessionCore } from '../core.js'
import { hostCalls } from '../history/file-changes.js'
import type { SessionPart } from '../part.js'
import { agentsPart } from './agents.js'
import { OpenAsks } from './open-asks.js'
import { doneBy, noteOf, snapshotOf } from './task-notes.js'

/** The work that a session hands to other agents. */
export const tasksPart: SessionPart<Tasks> = {
  name: 'tasks',
  make: (core) => new Tasks(core),
  close: (tasks) => tasks.close(),
}

/** A step of a workflow, which outlives the process under its name. */
export type WorkflowStep = NonNullable<TaskNote['workflow']>

/** The tasks of a session that has any, here or in its log. */
export function knownTasks(core: SessionCore): Tasks | undefined {
  const kept = (core.parts.restored?.tasks.size ?? 0) > 0
  return kept ? core.part(tasksPart) : core.peekPart(tasksPart)
}

export type RunTasksOptions = {
  readonly signal?: AbortSignal
  /** The step of a workflow that it is. */
  readonly workflow?: WorkflowStep
  /** Tokens that several share: once they are used up, nothing more is asked. */
  readonly budget?: SharedTokens
  /** Told when its turn has come. */
  begun?(): void
}

type Begun = { readonly record: TaskRecord; readonly request: TaskRequest; readonly agent: AgentDefinition }

type ReadyTask = Pick<Begun, 'request' | 'agent'>

function isReady(task: ReadyTask | TaskOutcome): task is ReadyTask {
  return 'request' in task
}

/** The outcome of a task that has no agent: no session was opened for it. */
function notBegun({ agent, description }: TaskRequest, error: AgentNotFoundError): TaskOutcome {
  return {
    taskId: '',
    sessionId: '',
    agent: typeof agent === 'string' ? agent : agent.name,
    description,
    success: false,
    output: '',
    error: error.message,
    counters: { rounds: 0, toolCalls: 0, totalTokens: 0 },
  }
}

class Tasks implements RuntimeTasks {
  readonly #core: SessionCore
  readonly #board: TaskBoard
  readonly #slots: Slots
  readonly #family: TaskFamily
  /** Background tasks that have ended, and that the model has not been told of. */
  readonly #arrived: TaskRecord[] = []
  /** Steps of workflows that are not over: at work, or done. */
  readonly #steps = new Map<string, WorkflowStep>()
  /** How many may be begun without one of them being refused. */
  readonly maxAtOnce: number
  /** What an earlier process left, to be written down once the session is had for writing. */
  #lost: TaskRecord[] = []

  constructor(core: SessionCore) {
    const { options, parent, restored } = core.parts
    this.#core = core
    const { maxParallelTasks = defaultParallelTasks } = options
    this.#slots = new Slots(maxParallelTasks)
    this.#family = parent?.family ?? new TaskFamily(options.delegation)
    this.maxAtOnce = Math.max(1, Math.min(maxParallelTasks, this.#family.maxTasks))
    const maxEnded = options.retentionLimits?.maxTerminalSubagentTasks ?? Number.POSITIVE_INFINITY
    this.#board = new TaskBoard(maxEnded, core.now, (taskId) => this.#steps.has(taskId))
    for (const note of restored?.tasks.values() ?? []) this.#restore(note)
  }

  async run(
    requests: readonly TaskRequest[],
    options: RunTasksOptions = {},
  ): Promise<readonly TaskOutcome[]> {
    const found = requests.map((request) => this.#findAgent(request, requests.length > 1))
    const begun = this.#begin(found.filter(isReady), false)
    if (options.workflow !== undefined)
      for (const { record } of begun) this.#steps.set(record.id, options.workflow)
    const performed = begun.map((task) => this.#perform(task, options))
    let next = 0
    return Promise.all(found.map((task) => (isReady(task) ? performed[next++] : task))) as Promise<
      readonly TaskOutcome[]
    >
  }

  async start(request: TaskRequest): Promise<{ readonly taskId: string; readonly sessionId: string }> {
    const [task] = this.#begin([{ request, agent: this.#agent(request.agent) }], true)
    if (task === undefined) throw new TypeError('There is no task to be started.')
    void this.#perform(task)
    const { taskId, childSessionId } = task.record.snapshot()
    return { taskId, sessionId: childSessionId }
  }

  list(): SubagentTaskSnapshot[] {
    return this.#board.list().map((task) => task.snapshot())
  }

  pending(): SubagentTaskSnapshot[] {
    return this.#board.pending().map((task) => task.snapshot())
  }

  get(taskId: string): SubagentTaskSnapshot | undefined {
    return this.#board.get(taskId)?.snapshot()
  }

  /** False when no such task waits or is at work. Resolves when nothing of it is left. */
  async cancel(taskId: string): Promise<boolean> {
    const task = this.#board.get(taskId)
    if (!task?.cancel('the task was cancelled')) return false
    await task.ended
    return true
  }

  /** Whether there were any. */
  cancelAll(why: string): boolean {
    return this.#board.pending().filter((task) => task.cancel(why)).length > 0
  }

  /** The same; resolves when nothing of them is left. */
  async stopAll(why: string): Promise<void> {
    const tasks = this.#board.pending()
    this.cancelAll(why)
    await Promise.all(tasks.map(({ ended }) => ended))
  }

  /** What has come of background tasks since this was last asked for, as the model is told. */
  takeArrivals(): UserMessage[] {
    for (const task of this.#lost.splice(0)) this.#keepLost(task)
    return this.#arrived
      .splice(0)
      .map((task) => ({ role: 'user', content: [{ type: 'text', text: arrivalText(task.snapshot()) }] }))
  }

  /** Steps of a workflow that were done, here or by an earlier process. */
  stepsDone(workflowId: string): readonly { readonly step: WorkflowStep; readonly outcome: TaskOutcome }[] {
    return [...this.#steps].flatMap(([taskId, step]) => {
      const task = this.#board.get(taskId)?.snapshot()
      return step.id === workflowId && task?.status === 'completed' ? [{ step, outcome: doneBy(task) }] : []
    })
  }

  /** The workflow is over: begun again under the same name, it begins anew. */
  async endWorkflow(workflowId: string): Promise<void> {
    for (const [taskId, { id }] of [...this.#steps]) {
      if (id !== workflowId) continue
      this.#steps.delete(taskId)
      const task = this.#board.get(taskId)
      if (task !== undefined) await this.#keep(task)
    }
    this.#board.forget()
  }

  close(): Promise<void> {
    return this.stopAll('the session was closed')
  }

  #begin(tasks: readonly ReadyTask[], background: boolean): Begun[] {
    const core = this.#core
    this.#assertAble()
    this.#family.take(tasks.length, core.parts.parent?.depth ?? 0)
    return tasks.map(({ request, agent }) => {
      const taskId = core.newId()
      const record = this.#board.add({
        taskId,
        parentSessionId: core.parts.sessionId,
        childSessionId: `task-run-${taskId}`,
        agent: agent.name,
        description: request.description,
        background,
      })
      return { record, request, agent }
    })
  }

  #assertAble(): void {
    this.#core.assertOpen()
    if (this.#core.parts.children === undefined) throw new DelegationError()
  }

  /** The task with its agent. Among several, an agent that does not exist fails its own task and no other. */
  #findAgent(request: TaskRequest, amongSeveral: boolean): ReadyTask | TaskOutcome {
    this.#assertAble()
    try {
      return { request, agent: this.#agent(request.agent) }
    } catch (error) {
      if (!amongSeveral || !(error instanceof AgentNotFoundError)) throw error
      return notBegun(request, error)
    }
  }

  #agent(wanted: string | TaskAgent): AgentDefinition {
    if (typeof wanted === 'string') return this.#core.part(agentsPart).forTask(wanted)
    return { description: wanted.name, ...wanted }
  }

  #perform(task: Begun, { signal, budget, begun }: RunTasksOptions = {}): Promise<TaskOutcome> {
    const { record } = task
    const { closing } = this.#core
    const signals = [record.signal, closing.signal, ...(signal === undefined ? [] : [signal])]
    const work: TaskWork = {
      record,
      prompt: task.request.prompt,
      ...(task.request.outputSchema !== undefined && { outputSchema: task.request.outputSchema }),
      signal: AbortSignal.any(signals),
      open: () => this.#open(task, budget),
      emit: this.#core.emit,
      keep: () => this.#keep(record),
    }
    const performed = this.#inTurn(work, begun).finally(() => {
      this.#family.giveBack()
      if (record.snapshot().status !== 'completed') this.#steps.delete(record.id)
      if (record.snapshot().background && !closing.signal.aborted) this.#arrived.push(record)
      this.#board.forget()
    })
    record.ended = performed
    return performed
  }

  async #inTurn(work: TaskWork, begun: RunTasksOptions['begun']): Promise<TaskOutcome> {
    try {
      return await this.#slots.run(work.signal, () => {
        begun?.()
        return performTask(work)
      })
    } catch {
      // It was stopped before its turn came: it is said as for any other.
      return performTask(work)
    }
  }

  async #open({ record, request, agent }: Begun, tokens: SharedTokens | undefined): Promise<TaskSession> {
    const core = this.#core
    const { children, options, parent } = core.parts
    if (children === undefined) throw new DelegationError()
    const engine = await core.engine()
    const asked = new OpenAsks(core, record.snapshot())
    const message = core.conversation.kept.findLast(({ row }) => row.role === 'user')
    const task: ChildTask = {
      taskId: record.id,
      sessionId: record.snapshot().childSessionId,
      agent,
      timeoutMs: options.delegation?.timeoutMs ?? defaultTaskTimeoutMs,
      family: this.#family,
      budget: tokens === undefined ? core.budget : sharedBudget(core.budget, tokens),
      changesOf: parent?.changesOf ?? core.active?.id ?? hostCalls,
      ...(request.maxSteps !== undefined && { maxSteps: request.maxSteps }),
      ...(message !== undefined && { messageId: message.id }),
      ...(asked.handler !== undefined && { onAsk: asked.handler }),
      ...(asked.question !== undefined && { onQuestion: asked.question }),
    }
    const child = children.open(core, engine, task)
    return {
      ask: (prompt, signal, told) => child.ask(prompt, signal, told).finally(() => asked.withdraw()),
      usage: () => child.usage(),
      close: () => child.close(),
    }
  }

  async #keep(record: TaskRecord): Promise<void> {
    await this.#core.keeper?.task(noteOf(record.snapshot(), this.#steps.get(record.id)))
  }

  /** Nobody waits for it, and what the log says now is as true as before. */
  #keepLost(record: TaskRecord): void {
    this.#keep(record).catch((error: unknown) =>
      this.#core.emit({ type: 'persistence_failed', operation: 'task', error: messageOf(error) }),
    )
  }

  #restore(note: TaskNote): void {
    const snapshot = snapshotOf(note, this.#core.parts.sessionId)
    if (note.workflow && !note.outputCut && note.status === 'completed')
      this.#steps.set(note.taskId, note.workflow)
    this.#board.restore(snapshot)
    const record = this.#board.get(note.taskId)
    if (record === undefined) return
    if (record.snapshot().status !== note.status) this.#lost.push(record)
    if (note.background && !this.#isTold(note.taskId)) this.#arrived.push(record)
  }

  /** What the model was told stands in the conversation, and nowhere else. */
  #isTold(taskId: string): boolean {
    const mark = `<task-result task="${taskId}"`
    return this.#core.conversation.order.some(
      ({ message }) =>
        message.role === 'user' &&
        message.content.some((part) => part.type === 'text' && part.text.startsWith(mark)),
    )
  }
}

export type { Tasks }

/** This session was made by something that makes no further ones. */
class DelegationError extends CapstanError {
  constructor() {
    super('delegation_unavailable', 'This session cannot hand work to other agents. Do the work here.')
  }
}

markErrorClass(DelegationError, 'DelegationError')
