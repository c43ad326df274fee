import { join } from 'node:path'
import type { Engine } from '../feature/feature-context.js'
import type { RuntimeTasks, TaskAgent, TaskChanges, TaskOutcome, TaskRequest } from '../feature/task.js'
import { unreadableFiles } from '../loop/call-permit.js'
import type { TaskNote } from '../store/records.js'
import type { UserMessage } from '../tool/completion.js'
import { CapstanError, messageOf } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { IsolatedTree } from '../workspace/git/isolated-tree.js'
import { type AgentDefinition, AgentNotFoundError } from './agent-definition.js'
import type { AgentRegistry } from './agent-registry.js'
import type { ChildTask } from './child-maker.js'
import { defaultParallelTasks, defaultTaskTimeoutMs, Slots, TaskFamily } from './limits.js'
import { OpenAsks } from './open-asks.js'
import type { SubagentSession } from './options.js'
import { performTask, type TaskSession, type TaskWork } from './perform-task.js'
import { type SharedTokens, sharedBudget } from './shared-tokens.js'
import { TaskBoard } from './task-board.js'
import { doneBy, noteOf, snapshotOf } from './task-notes.js'
import type { SubagentTaskSnapshot, TaskRecord } from './task-record.js'
import { arrivalText } from './task-text.js'

/** A step of a workflow, which is remembered by name across processes. */
export type WorkflowStep = NonNullable<TaskNote['workflow']>

export type RunTasksOptions = {
  readonly signal?: AbortSignal
  /** The workflow step that this task performs. */
  readonly workflow?: WorkflowStep
  /** Tokens that several tasks share: once they are used up, no further request is sent. */
  readonly budget?: SharedTokens
  /** Called when the task gets its slot. */
  begun?(): void
}

type Begun = { readonly record: TaskRecord; readonly request: TaskRequest; readonly agent: AgentDefinition }

type ReadyTask = Pick<Begun, 'request' | 'agent'>

function isReady(task: ReadyTask | TaskOutcome): task is ReadyTask {
  return 'request' in task
}

/** The outcome of a task whose agent does not exist: no session was opened for it. */
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

/** The tasks that a session has given to other agents. */
export class Tasks implements RuntimeTasks {
  readonly #session: SubagentSession
  readonly #known: { readonly agents: AgentRegistry }
  readonly #board: TaskBoard
  readonly #slots: Slots
  /** The limits that all levels of subagents share. */
  readonly family: TaskFamily
  /** Background tasks that have ended and are not reported to the model yet. */
  readonly #arrived: TaskRecord[] = []
  /** The active and finished steps of workflows that have not ended. */
  readonly #steps = new Map<string, WorkflowStep>()
  /** How many tasks can be started without a refusal. */
  readonly maxAtOnce: number
  /** Tasks of an earlier process that are written once this process writes to the log. */
  #lost: TaskRecord[] = []

  constructor(session: SubagentSession, known: { readonly agents: AgentRegistry }, family?: TaskFamily) {
    const { options, restored } = session
    this.#session = session
    this.#known = known
    const { maxParallelTasks = defaultParallelTasks } = options
    this.#slots = new Slots(maxParallelTasks)
    this.family = family ?? new TaskFamily(options.delegation)
    this.maxAtOnce = Math.max(1, Math.min(maxParallelTasks, this.family.maxTasks))
    const maxEnded = options.retentionLimits?.maxTerminalSubagentTasks ?? Number.POSITIVE_INFINITY
    this.#board = new TaskBoard(
      maxEnded,
      () => session.now(),
      (taskId) => this.#steps.has(taskId),
    )
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
    if (task === undefined) throw new TypeError('There is no task to start.')
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

  /** Cancels a task; false if no such task is queued or active. Resolves when nothing of it is left. */
  async cancel(taskId: string): Promise<boolean> {
    const task = this.#board.get(taskId)
    if (!task?.cancel('the task was cancelled')) return false
    await task.ended
    return true
  }

  /** Cancels all tasks; returns whether there were any. */
  cancelAll(why: string): boolean {
    return this.#board.pending().filter((task) => task.cancel(why)).length > 0
  }

  /** Cancels all tasks; resolves when nothing of them is left. */
  async stopAll(why: string): Promise<void> {
    const tasks = this.#board.pending()
    this.cancelAll(why)
    await Promise.all(tasks.map(({ ended }) => ended))
  }

  /** Messages for the model about background tasks that have ended since the last call. */
  takeArrivals(): UserMessage[] {
    for (const task of this.#lost.splice(0)) this.#saveLost(task)
    return this.#arrived
      .splice(0)
      .map((task) => ({ role: 'user', content: [{ type: 'text', text: arrivalText(task.snapshot()) }] }))
  }

  /** The completed steps of a workflow, of this process or an earlier one. */
  stepsDone(workflowId: string): readonly { readonly step: WorkflowStep; readonly outcome: TaskOutcome }[] {
    return [...this.#steps].flatMap(([taskId, step]) => {
      const task = this.#board.get(taskId)?.snapshot()
      return step.id === workflowId && task?.status === 'completed' ? [{ step, outcome: doneBy(task) }] : []
    })
  }

  /** Ends a workflow: if it is started again under the same name, all its steps run again. */
  async endWorkflow(workflowId: string): Promise<void> {
    for (const [taskId, { id }] of [...this.#steps]) {
      if (id !== workflowId) continue
      this.#steps.delete(taskId)
      const task = this.#board.get(taskId)
      if (task !== undefined) await this.#save(task)
    }
    this.#board.forget()
  }

  #begin(tasks: readonly ReadyTask[], background: boolean): Begun[] {
    const session = this.#session
    this.#assertAble()
    this.family.take(tasks.length, session.parent?.depth ?? 0)
    return tasks.map(({ request, agent }) => {
      const taskId = session.newId()
      const record = this.#board.add({
        taskId,
        parentSessionId: session.sessionId,
        childSessionId: `task-run-${taskId}`,
        agent: agent.name,
        description: request.description,
        background,
      })
      return { record, request, agent }
    })
  }

  #assertAble(): void {
    this.#session.assertOpen()
    if (this.#session.setup.children === undefined) throw cannotDelegate()
  }

  /** Resolves the agent of a task. In a call with several tasks, an unknown agent fails only its own task. */
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
    if (typeof wanted === 'string') return this.#known.agents.forTask(wanted)
    return { description: wanted.name, ...wanted }
  }

  #perform(task: Begun, { signal, budget, begun }: RunTasksOptions = {}): Promise<TaskOutcome> {
    const { record } = task
    const closing = this.#session.signal
    const signals = [record.signal, closing, ...(signal === undefined ? [] : [signal])]
    const work: TaskWork = {
      record,
      prompt: task.request.prompt,
      outputSchema: task.request.outputSchema,
      signal: AbortSignal.any(signals),
      open: () => this.#open(task, budget),
      emit: (event) => this.#session.emit(event),
      keep: () => this.#save(record),
    }
    const performed = this.#inTurn(work, begun).finally(() => {
      this.family.release()
      if (record.snapshot().status !== 'completed') this.#steps.delete(record.id)
      if (record.snapshot().background && !closing.aborted) this.#arrived.push(record)
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
      // The task was stopped before it got a slot: its outcome is reported like any other.
      return performTask(work)
    }
  }

  async #open({ record, request, agent }: Begun, tokens: SharedTokens | undefined): Promise<TaskSession> {
    const session = this.#session
    const { children } = session.setup
    if (children === undefined) throw cannotDelegate()
    const engine = await session.engine.open()
    const asked = new OpenAsks(session, record.snapshot())
    const message = session.log.conversation.kept.findLast(({ row }) => row.role === 'user')
    const task: ChildTask = {
      taskId: record.id,
      sessionId: record.snapshot().childSessionId,
      agent,
      timeoutMs: session.options.delegation?.timeoutMs ?? defaultTaskTimeoutMs,
      budget: tokens === undefined ? session.spending.budget : sharedBudget(session.spending.budget, tokens),
      changesOf: session.log.changesOwner(),
      maxSteps: request.maxSteps,
      ...omitUndefined({ messageId: message?.id }),
      onAsk: asked.handler,
      onQuestion: asked.question,
    }
    const isolation = request.isolation ?? agent.isolation
    const tree = isolation === 'worktree' ? await this.#isolate(engine, record.signal) : undefined
    try {
      const child = children.open(session, engine, { ...task, root: tree?.root })
      return {
        ask: (prompt, signal, onEvent) => child.ask(prompt, signal, onEvent).finally(() => asked.withdraw()),
        usage: () => child.usage(),
        close: async () => {
          try {
            // The work is done: its changes are not lost because the last records of the child could not be written.
            await child.close().catch((error: unknown) => this.#reportFailedRecord(error))
            const changes = tree && (await collectChanges(engine, tree))
            // The patch is lost with the session, so a resumed workflow runs this step again.
            if (changes !== undefined && changes.files.length > 0) this.#steps.delete(record.id)
            return changes
          } finally {
            await tree?.remove()
          }
        },
      }
    } catch (error) {
      await tree?.remove()
      throw error
    }
  }

  async #isolate({ workspace }: Engine, signal: AbortSignal): Promise<IsolatedTree> {
    if (workspace.backend !== 'local')
      throw new CapstanError(
        'isolation_unavailable',
        `The workspace (${workspace.backend}) is not a directory of this machine, so a task cannot work in a worktree of it. Give the task without isolation.`,
      )
    const { createIsolatedTree } = await import('../workspace/git/isolated-tree.js')
    return createIsolatedTree(workspace.shell, workspace.root, signal)
  }

  async #save(record: TaskRecord): Promise<void> {
    await this.#session.log.recorder?.note(noteOf(record.snapshot(), this.#steps.get(record.id)))
  }

  /** Writes a lost task to the log. No caller waits for it, and the log stays correct without it. */
  #saveLost(record: TaskRecord): void {
    this.#save(record).catch((error: unknown) => this.#reportFailedRecord(error))
  }

  #reportFailedRecord(error: unknown): void {
    this.#session.emit({ type: 'persistence_failed', operation: 'task', error: messageOf(error) })
  }

  #restore(note: TaskNote): void {
    const snapshot = snapshotOf(note, this.#session.sessionId)
    if (note.workflow && !note.outputCut && note.status === 'completed')
      this.#steps.set(note.taskId, note.workflow)
    this.#board.restore(snapshot)
    const record = this.#board.get(note.taskId)
    if (record === undefined) return
    if (record.snapshot().status !== note.status) this.#lost.push(record)
    if (note.background && !this.#isReported(note.taskId)) this.#arrived.push(record)
  }

  /** Whether a task was reported to the model. Only the conversation records that. */
  #isReported(taskId: string): boolean {
    const mark = `<task-result task="${taskId}"`
    return this.#session.log.conversation.order.some(
      ({ message }) =>
        message.role === 'user' &&
        message.content.some((part) => part.type === 'text' && part.text.startsWith(mark)),
    )
  }
}

/** Collects the changes in a worktree, and the files in which the workspace differs from the worktree's base. */
async function collectChanges({ workspace, authority }: Engine, tree: IsolatedTree): Promise<TaskChanges> {
  // A patch contains the old text of what it changes, which the parent must not read if a rule denies it.
  const unreadable = unreadableFiles(authority.agent())
  const { files, patch, problem } = await tree.changes(
    (path) => unreadable?.denies(join(workspace.root, path)) ?? false,
  )
  const conflicts: string[] = []
  for (const { path, status, wasBase } of files) {
    const there = await workspace.files.read(path).catch(() => undefined)
    const isSame = status === 'added' ? there === undefined : there !== undefined && wasBase(there.bytes)
    if (!isSame) conflicts.push(path)
  }
  const hidden = files.filter(({ isHidden }) => isHidden).map(({ path }) => path)
  return {
    base: tree.base,
    files: files.map(({ path, status }) => ({ path, status })),
    patch,
    patchPath: await workspace.scratch.write('task-changes.patch', patch),
    conflicts,
    ...omitUndefined({ problem }),
    ...(hidden.length > 0 && { hidden }),
  }
}

/** The error of a session that cannot create child sessions. */
function cannotDelegate(): CapstanError {
  return new CapstanError(
    'delegation_unavailable',
    'This session cannot give tasks to other agents. Do the work here.',
  )
}
