/// <reference lib="esnext.disposable" preserve="true" />

import type { ModeName } from '../authority/mode.js'
import { commandsFeature } from '../commands/feature.js'
import type { CommandHandler, CommandInfo } from '../commands/index.js'
import type { ContextUsage } from '../feature/context-usage.js'
import { hooksFeature } from '../hooks/feature.js'
import type { HookConfig, HookEventName, HookHandler, HookMatcher, HookStatus } from '../hooks/index.js'
import type { AskAnswer } from '../loop/ask.js'
import type { BudgetGuard } from '../loop/budget.js'
import type { ClusterEvent, VerificationSummary } from '../loop/events.js'
import { onAbort } from '../loop/on-abort.js'
import { mcpFeature } from '../mcp/feature.js'
import type { McpFile, McpServerStatus } from '../mcp/host-types.js'
import type { McpServerOptions, McpTransportName } from '../mcp/server-options.js'
import { memoryOf } from '../memory/feature.js'
import type { MemoryItem, MemoryStats, RecalledMemory } from '../memory/index.js'
import type { Model } from '../model/model.js'
import { type ObjectOptions, type ObjectResult, objectForHost } from '../objects/object-for-host.js'
import { hasQueue, queueOf, type RetryDeadLetterOptions, retryDeadLetter } from '../queue/feature.js'
import type {
  Completion,
  DeadLetter,
  ExternalTask,
  Lane,
  LaneHandler,
  QueueDoor,
  QueueMetrics,
  QueueStats,
  ServeQueueOptions,
  WorkerStreams,
} from '../queue/index.js'
import { skillsFeature } from '../skills/feature.js'
import type { SkillInfo } from '../skills/skill.js'
import type { Todo } from '../store/todo.js'
import type { VerificationCommand, VerificationReport } from '../store/verification.js'
import { cancelTasks, knownTasks, subagentsFeature } from '../subagents/feature.js'
import type { WorkerAgentSpec } from '../subagents/files/worker-spec.js'
import { type AgentInfo, addAgentDirectory, addWorkerAgent, listAgents } from '../subagents/known-agents.js'
import type { ParallelOutcome, PipelineStage, StepOutcome, StepSpec } from '../subagents/orchestrate.js'
import { parallel, parallelResumable, pipeline } from '../subagents/orchestration.js'
import { startTask, startTasks, type TaskOptions } from '../subagents/task-options.js'
import type { SubagentTaskSnapshot } from '../subagents/task-record.js'
import { supervisorStatus } from '../supervise/feature.js'
import type { SupervisorStatus } from '../supervise/supervisor.js'
import type { AnyTool } from '../tool/contract.js'
import type { JsonSchema } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { QuestionAnswers } from '../tool/session-services.js'
import type { AnySchema, SchemaOutput } from '../tool/standard-schema.js'
import type { ToolResult } from '../tool/tool-result.js'
import { hostVerifier, verifyFeature } from '../verify/feature.js'
import { formatVerificationSummary, type GivenReport, type VerificationPreset } from '../verify/index.js'
import type { CommitOutcome, DiscardOutcome } from '../workspace/backend/backend.js'
import type { AgentResult } from './agent-result.js'
import { askAside, type SideAnswer } from './btw.js'
import { changeMode } from './change-mode.js'
import { assertBudgetGuard, assertTool, checkOptions } from './check-options.js'
import { type CompactOptions, type CompactOutcome, compactForHost } from './compact.js'
import type { PendingConfirmation } from './confirmations.js'
import { type GitCommand, gitArgs, type ProgramRequest, programArgs } from './direct-requests.js'
import { callForText, callTool } from './direct-tools.js'
import { emitCluster } from './emit-cluster.js'
import { ToolFailedError } from './errors.js'
import type { EventStream } from './event-stream.js'
import {
  historyOf,
  listMessages,
  type MessageInfo,
  type RewindOutcome,
  rewind,
  unrewind,
} from './history/rewind.js'
import { type FileChangeInfo, listChanges, type UndoOutcome, undo } from './history/undo.js'
import type { HistoryMessage } from './history-blocks.js'
import { assertIdleThreshold } from './idle-threshold.js'
import { SessionKernel } from './kernel.js'
import type { PendingQuestion } from './open-questions.js'
import { isWaitingForUser, type PassivateOptions, passivate } from './passivate.js'
import { readRequest, type SendOptions, type SendRequest } from './request.js'
import { type ResumeRunOptions, resumeRun } from './resume-run.js'
import type { RunEvent } from './run-events.js'
import type { RunSnapshot } from './runs.js'
import { kernelOf, SessionHandle } from './session-class.js'
import type { SessionSetup } from './setup.js'
import type { Spending } from './spending.js'
import { startRun } from './start-run.js'
import { checkedTitle } from './title.js'
import { type ToolInfo, toolInfo } from './tool-facts.js'
import type { TraceEvent } from './trace.js'

/**
 * A conversation on a workspace: the object that a host holds. It is created at once; files, rules and models are
 * opened with the first call that needs them. Close it when you are done with it.
 *
 * @example
 * const session = agent.session('.')
 * const { text } = await session.send('What is this project?')
 * await session.close()
 */
export class Session extends SessionHandle {
  /** Sessions are created by `agent.session(...)`. */
  constructor(setup: SessionSetup) {
    const kernel = new SessionKernel(setup)
    super(kernel)
    const { signal } = setup.options
    if (signal === undefined) return
    const undo = onAbort(signal, () => void this.close())
    kernel.signal.addEventListener('abort', undo, { once: true })
  }

  // What it is

  get sessionId(): string {
    return kernelOf(this).sessionId
  }

  /** The real path of the workspace. */
  get workspace(): string {
    return kernelOf(this).root
  }

  /** The title in lists: as it was given, or the first words of the first prompt. Null while there is none. */
  get title(): string | null {
    return kernelOf(this).title.current ?? null
  }

  /** Gives the session a title of 1 to 200 characters, in its store too. */
  async setTitle(title: string): Promise<void> {
    const kernel = kernelOf(this)
    kernel.assertOpen()
    const checked = checkedTitle(title)
    kernel.title.set(checked)
    await kernel.recorder?.session({ title: checked })
  }

  /** Warnings about the options; null when there are none. */
  get initWarning(): string | null {
    const { warnings } = kernelOf(this).setup
    return warnings.length === 0 ? null : warnings.join('\n')
  }

  get tenantId(): string | null {
    return kernelOf(this).options.tenantId ?? null
  }

  get principal(): string | null {
    return kernelOf(this).options.principal ?? null
  }

  get agentTemplateId(): string | null {
    return kernelOf(this).options.agentTemplateId ?? null
  }

  get correlationId(): string | null {
    return kernelOf(this).options.correlationId ?? null
  }

  get isClosed(): boolean {
    return kernelOf(this).isClosed
  }

  /**
   * Resolves when everything so far is on disk, also for a session without messages. Without a store it does nothing.
   */
  async save(): Promise<void> {
    await kernelOf(this).recorder?.flush()
  }

  /** Ends everything: the run, those that wait, questions, processes. After the call, the session takes nothing new. */
  async close(): Promise<void> {
    await kernelOf(this).close()
  }

  /**
   * Closes the session without ending the run, before a restart: calls are stopped as in `close`, but that is not
   * written, so another process finds the run cut off, continues it with `resumeRun`, and lists the questions that
   * waited. Without a store it is `close`.
   */
  async suspend(): Promise<void> {
    await kernelOf(this).suspend()
  }

  /**
   * Suspends the session as soon as nothing is lost by it: when the round of its run has ended, at once when there is
   * no run or it only waits for an approval, and at the deadline in any case. Hooks and the run get
   * `passivation_requested`. Resolves when the session is closed.
   */
  async passivate(options: PassivateOptions): Promise<void> {
    await passivate(kernelOf(this), options)
  }

  /** Whether the run can do nothing before a user approves, rejects or answers: it can be suspended at no cost. */
  isWaitingForUser(): boolean {
    return isWaitingForUser(kernelOf(this))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  // Runs

  /** Sends a prompt and waits for the answer. While another run is at work it waits its turn. */
  async send(
    request: string | SendRequest,
    more?: readonly HistoryMessage[] | SendOptions,
  ): Promise<AgentResult> {
    const { stream, result } = startRun(kernelOf(this), readRequest(request, more))
    // Nothing reads the stream, so its events must not pile up.
    stream.end()
    return result
  }

  /** Sends a prompt and returns the events of the run. The stream owns its run: leaving its loop early cancels it. */
  async stream(
    request: string | SendRequest,
    more?: readonly HistoryMessage[] | SendOptions,
  ): Promise<EventStream> {
    return startRun(kernelOf(this), readRequest(request, more)).stream
  }

  /** Adds a message to the run at work; the model reads it at the next safe point. False when there is no run. */
  steer(text: string): boolean {
    if (typeof text !== 'string' || text.trim() === '')
      throw new TypeError('steer takes a text that is not empty.')
    const { active, steering } = kernelOf(this)
    if (active === undefined || active.ended || !active.steerable) return false
    steering.push({ role: 'user', content: [{ type: 'text', text }] })
    return true
  }

  /**
   * Asks a side question: it is answered from the conversation so far, without tools, and is not added to the history.
   */
  async btw(question: string): Promise<SideAnswer> {
    return askAside(kernelOf(this), question)
  }

  /** Cancels the run at work, and all tasks in the background. False when there was nothing to cancel. */
  cancel(): boolean {
    const kernel = kernelOf(this)
    const reason = 'cancel() was called'
    const cancelled = kernel.active?.cancel(reason) ?? false
    return cancelTasks(kernel, reason) || cancelled
  }

  /** Continues a run whose process ended, from its last finished round. It is a new run that continues the totals. */
  async resumeRun(runId: string, options?: ResumeRunOptions): Promise<AgentResult> {
    return resumeRun(kernelOf(this), runId, options)
  }

  async runs(): Promise<RunSnapshot[]> {
    return kernelOf(this).runs.list()
  }

  async runSnapshot(runId: string): Promise<RunSnapshot | null> {
    return kernelOf(this).runs.get(runId)?.snapshot() ?? null
  }

  async runEvents(runId: string): Promise<RunEvent[]> {
    return kernelOf(this).runs.events(runId)
  }

  /**
   * Follows a run without owning it, from a sequence number on. Ends with the run; at once when there is no such run.
   */
  watch(
    runId: string,
    options: { readonly from?: number; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<RunEvent, void, undefined> {
    const run = kernelOf(this).runs.get(runId)
    return run === undefined ? nothing() : run.events.watch(options.from, options.signal)
  }

  async currentRun(): Promise<RunSnapshot | null> {
    return kernelOf(this).active?.record.snapshot() ?? null
  }

  /** False when no such run waits or is at work. */
  async cancelRun(runId: string): Promise<boolean> {
    return kernelOf(this).cancelRun(runId, 'cancelRun() was called')
  }

  /** How every tool call was decided and how it went. */
  traceEvents(): TraceEvent[] {
    return kernelOf(this).trace.list()
  }

  /**
   * Tokens and cost of everything that this session has asked of models, for each model too: rounds, subagents, side
   * questions, summaries and generated objects, also of runs that failed, and of earlier processes where the session
   * has a store.
   */
  spending(): Spending {
    return kernelOf(this).spending.total()
  }

  /** Replaces the budget guard; null removes it. Takes effect with the next call of the model or a tool. */
  setBudgetGuard(guard: BudgetGuard | null): void {
    assertBudgetGuard(guard)
    kernelOf(this).guard = guard ?? undefined
  }

  // Conversation and files

  history(): HistoryMessage[] {
    return historyOf(kernelOf(this).conversation.readAllNow())
  }

  /** The messages with their ids, roles and first words: what `rewind` and a fork can be pointed at. */
  messages(): MessageInfo[] {
    return listMessages(kernelOf(this).conversation.readAllNow())
  }

  /**
   * Goes back to before this message of the user: it and everything after it is hidden from the history and the model,
   * before a summary too, and stays in the log. Returns its text, to be changed and sent again. Files stay as they are.
   * Refused while a run works.
   */
  async rewind(messageId: string): Promise<RewindOutcome> {
    return rewind(kernelOf(this), messageId)
  }

  /** Shows again all that was rewound since the last message; after a new message it is refused. */
  async unrewind(): Promise<number> {
    return unrewind(kernelOf(this))
  }

  /** What tools did to files in a run, or in the last that left a change. Changes by commands are not covered. */
  async changes(runId?: string, options?: { readonly diff?: boolean }): Promise<FileChangeInfo[]> {
    return listChanges(kernelOf(this), runId, options)
  }

  /**
   * Restores files to what they were before a run changed them: file by file, and only those that are still what the
   * run left. The others are named and stay. Without an id it takes the last run of which something can be restored. An
   * undo can be undone by its own id; `host` means direct calls.
   */
  async undo(runId?: string): Promise<UndoOutcome> {
    return undo(kernelOf(this), runId)
  }

  /**
   * On an overlay: writes all changes to the directory below, or none of them. Fails with `file_changed` or
   * `files_not_changed` when a file there is not what it was when it was first changed; the changes stay in the overlay
   * then. Elsewhere: fails with `commit_unavailable`.
   */
  async commit(): Promise<CommitOutcome> {
    const kernel = kernelOf(this)
    return kernel.alone('committing', async () => (await kernel.engine()).workspace.commit())
  }

  /** On an overlay: drops all changes that were not committed. Elsewhere: fails with `commit_unavailable`. */
  async discard(): Promise<DiscardOutcome> {
    const kernel = kernelOf(this)
    return kernel.alone('discarding', async () => (await kernel.engine()).workspace.discard())
  }

  /**
   * What fills the model's context window: the system prompt, tools, files, memories and the rest of the conversation,
   * with the size at which it is compacted. No request is sent.
   */
  async contextUsage(): Promise<ContextUsage> {
    const kernel = kernelOf(this)
    kernel.assertOpen()
    return kernel.contextUsage(kernel.signal)
  }

  /**
   * Replaces what the model sees of the conversation by a summary; the history stays. Null when a summary
   * would not be shorter, or a hook refused it. Rejects when the model gives no summary, and while a run works.
   *
   * @example
   * await session.compact({ focus: 'the failing test in src/parser' })
   */
  async compact(options: CompactOptions = {}): Promise<CompactOutcome | null> {
    return compactForHost(kernelOf(this), options)
  }

  todos(): readonly Todo[] {
    return kernelOf(this).plan.list()
  }

  /**
   * The files outside the workspace that the user has open now: `{ad-hoc}` means their directories from the next call
   * on.
   */
  setAdHocFiles(paths: readonly string[]): void {
    const kernel = kernelOf(this)
    kernel.assertOpen()
    kernel.places.setAdHocFiles(paths)
  }

  // Tools, rules and approvals

  /** Calls a tool. Direct calls are privileged: rules and approval do not apply to them, everything else does. */
  async tool(
    name: string,
    args: unknown = {},
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ToolResult> {
    return callTool(kernelOf(this), name, args, options.signal)
  }

  toolNames(): string[] {
    return kernelOf(this).tools.names()
  }

  /** The definition of each tool as the model reads it, with its kind and title for clients. */
  toolDefinitions(): ToolInfo[] {
    const { tools } = kernelOf(this)
    return tools.known().map((definition) => toolInfo(definition, tools.get(definition.name)))
  }

  /** Adds a tool, or replaces the one with its name. The model sees it from the next round on. */
  registerTool(tool: AnyTool): void {
    kernelOf(this).assertOpen()
    assertTool(tool)
    kernelOf(this).tools.add(tool)
  }

  unregisterTool(name: string): boolean {
    return kernelOf(this).tools.remove(name)
  }

  /** Sets the mode: a set of permissions that binds from the next call on. */
  async setMode(mode: ModeName | undefined): Promise<void> {
    kernelOf(this).assertOpen()
    // An unknown name would be no mode at all, and restrict nothing.
    if (mode !== undefined) checkOptions({ mode })
    const { authority } = await kernelOf(this).engine()
    await changeMode(kernelOf(this), authority, mode)
  }

  /** The mode that applies now; undefined when there is none. */
  async mode(): Promise<ModeName | undefined> {
    return kernelOf(this).mode()
  }

  /** The model of the next round, as `provider/model`. */
  modelName(): string {
    const { provider, id } = kernelOf(this).model()
    return `${provider}/${id}`
  }

  /**
   * Changes the model from the next round on, in the store too: `provider/model` of the configuration, or a model
   * object.
   */
  async setModel(model: string | Model): Promise<void> {
    kernelOf(this).assertOpen()
    await kernelOf(this).setModel(model)
  }

  /** Calls that wait for an approval; also those that an earlier process asked about, which `resumeRun` makes. */
  pendingConfirmations(): PendingConfirmation[] {
    return kernelOf(this).confirmations.pending()
  }

  /**
   * Answers one of them. False when none waits under this id. `decision` says how far an approval reaches, `by` who
   * answers, for the log.
   */
  async confirmToolUse(
    toolId: string,
    approved: boolean,
    reason?: string,
    decision?: AskAnswer['decision'],
    by?: string,
  ): Promise<boolean> {
    return kernelOf(this).confirmations.confirm(toolId, approved, reason, decision, by)
  }

  /** Refuses all of them. Returns how many there were. */
  async cancelConfirmations(): Promise<number> {
    const reason = 'All confirmations were cancelled.'
    const { confirmations } = kernelOf(this)
    return confirmations.cancelAll(reason) + confirmations.refuseSaved(reason)
  }

  /** The questions of models that wait for the user: those that `onQuestion` was called with and has not answered. */
  pendingQuestions(): PendingQuestion[] {
    return kernelOf(this).questions.pending()
  }

  /**
   * Answers one of them in place of `onQuestion`, with one list of answers for each of its parts. The signal that
   * `onQuestion` was given is aborted. False when none waits under this id.
   */
  async answerQuestion(questionId: string, answers: QuestionAnswers): Promise<boolean> {
    return kernelOf(this).questions.answer(questionId, answers)
  }

  // The direct calls that hosts make most, by name

  /** The text of a file, or some of its lines. Rejects when it cannot be read. */
  async readFile(path: string, options: { offset?: number; limit?: number } = {}): Promise<string> {
    return callForText(kernelOf(this), 'host_read_text', { file_path: path, ...options })
  }

  async writeFile(path: string, content: string): Promise<ToolResult> {
    return callTool(kernelOf(this), 'write', { file_path: path, content })
  }

  async editFile(
    path: string,
    oldString: string,
    newString: string,
    replaceAll = false,
  ): Promise<ToolResult> {
    const args = { file_path: path, old_string: oldString, new_string: newString, replace_all: replaceAll }
    return callTool(kernelOf(this), 'edit', args)
  }

  async patchFile(path: string, diff: string): Promise<ToolResult> {
    return callTool(kernelOf(this), 'patch', { file_path: path, diff })
  }

  async ls(path = '.'): Promise<ToolResult> {
    return callTool(kernelOf(this), 'ls', { path })
  }

  /** The paths that match. Rejects when the list would not be complete. */
  async glob(pattern: string, options: { path?: string } = {}): Promise<string[]> {
    const { envelope, output } = await callTool(kernelOf(this), 'host_glob', { pattern, ...options })
    if (envelope.type === 'error' || !Array.isArray(envelope.data)) throw new ToolFailedError('glob', output)
    return envelope.data as string[]
  }

  async grep(pattern: string, options: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return callForText(kernelOf(this), 'grep', { ...options, pattern })
  }

  /** The output of a command, whatever its exit code; `tool('bash', …)` has that too. Rejects when it could not run. */
  async bash(command: string, options: { timeout?: number } = {}): Promise<string> {
    return callForText(kernelOf(this), 'bash', { command, ...options })
  }

  /** Runs one git command, given as an object or by position. */
  async git(
    command: string | GitCommand,
    subcommand?: string,
    name?: string,
    path?: string,
    newBranch?: boolean,
    base?: string,
    force?: boolean,
    maxCount?: number,
    message?: string,
    includeUntracked?: boolean,
    target?: string,
    ref?: string,
  ): Promise<ToolResult> {
    const places = { subcommand, name, path, newBranch, base, force, maxCount, message, includeUntracked }
    return callTool(kernelOf(this), 'git', gitArgs(command, { ...places, target, ref }))
  }

  async webSearch(params: { readonly query: string; readonly limit?: number }): Promise<ToolResult> {
    const { query, limit } = params
    const args = { query, ...omitUndefined({ max_results: limit }) }
    return callTool(kernelOf(this), 'web_search', args)
  }

  /** Runs a script that calls tools, as `tool('program', …)` does. */
  async program(program: ProgramRequest): Promise<ToolResult> {
    return callTool(kernelOf(this), 'program', programArgs(program))
  }

  // Hooks and commands

  registerHook<Name extends HookEventName>(
    id: string,
    event: Name,
    matcher: HookMatcher | null | undefined,
    config: HookConfig | null | undefined,
    handler: HookHandler<Name>,
  ): void {
    kernelOf(this).use(hooksFeature).register(id, event, matcher, config, handler)
  }

  unregisterHook(id: string): boolean {
    return kernelOf(this).use(hooksFeature).unregister(id)
  }

  hookCount(): number {
    return kernelOf(this).use(hooksFeature).count()
  }

  /** The counts of each hook: a guard that never ran can be seen here. */
  hookStatus(): HookStatus[] {
    return kernelOf(this).use(hooksFeature).list()
  }

  /** Reports to the session's hooks, and to the run at work, what happens in the cluster. */
  async emitClusterEvent(event: ClusterEvent): Promise<void> {
    await emitCluster(kernelOf(this), event)
  }

  registerCommand(name: string, description: string, handler: CommandHandler, timeoutMs?: number): void {
    kernelOf(this).use(commandsFeature).register(name, description, handler, timeoutMs)
  }

  listCommands(): CommandInfo[] {
    return kernelOf(this).use(commandsFeature).list()
  }

  // Verification and objects

  /**
   * Runs commands one after the other and saves a report of how they went. They are direct calls: in the session's
   * shell, with its confinement, environment and limits. A failed command does not reject: the report says so.
   *
   * @example
   * const report = await session.verifyCommands('release', [{ id: 'unit', kind: 'test', command: 'npm test' }])
   */
  async verifyCommands(
    subject: string,
    commands: readonly VerificationCommand[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<VerificationReport> {
    const kernel = kernelOf(this)
    kernel.assertOpen()
    return kernel.use(verifyFeature).verify(subject, commands, hostVerifier(kernel, options.signal))
  }

  /** Every report of this session so far, those from before it was resumed too. */
  verificationReports(): VerificationReport[] {
    return kernelOf(this).use(verifyFeature).reports.list()
  }

  /** Adds what was verified elsewhere. A report may say less than its checks show, never more. */
  async recordVerificationReports(reports: GivenReport | readonly GivenReport[]): Promise<void> {
    await kernelOf(this).use(verifyFeature).record(reports)
  }

  /** The state of the session by its reports, the last about each subject. */
  verificationSummary(): VerificationSummary {
    return kernelOf(this).use(verifyFeature).reports.summary()
  }

  verificationSummaryText(): string {
    return formatVerificationSummary(this.verificationSummary())
  }

  /** The checks that the workspace offers: those of its package managers, languages and makefiles. */
  verificationPresets(): VerificationPreset[] {
    return kernelOf(this).use(verifyFeature).presets()
  }

  /**
   * Asks the session's model for data: a value of a Zod schema, or of any Standard Schema, or one that fits a JSON
   * Schema. The conversation stays as it is. Throws `ObjectGenerationError` when no answer fits.
   *
   * @example
   * const schema = z.object({ mood: z.enum(['good', 'bad']) })
   * const { object } = await session.generateObject(schema, 'Classify: "Amazing!"')
   */
  async generateObject<Schema extends AnySchema>(
    schema: Schema,
    request: string | ObjectOptions,
  ): Promise<ObjectResult<SchemaOutput<Schema>>>
  async generateObject(schema: JsonSchema, request: string | ObjectOptions): Promise<ObjectResult<unknown>>
  async generateObject(
    schema: AnySchema | JsonSchema,
    request: string | ObjectOptions,
  ): Promise<ObjectResult<unknown>> {
    return objectForHost(kernelOf(this), schema, request)
  }

  // Subagents

  /** The agents that tasks can be given to, and how each is configured. */
  agents(): AgentInfo[] {
    return listAgents(kernelOf(this))
  }

  /**
   * Reads the agents of a directory: YAML files, and Markdown with fields at its head. Returns how many there were;
   * problems with other files are reported as notices and by `agentProblems()`.
   */
  registerAgentDir(path: string): number {
    return addAgentDirectory(kernelOf(this), path)
  }

  /** Adds an agent, or replaces the one with its name. */
  registerWorkerAgent(spec: WorkerAgentSpec): AgentInfo {
    return addWorkerAgent(kernelOf(this), spec)
  }

  registerWorkerAgents(specs: readonly WorkerAgentSpec[]): AgentInfo[] {
    return specs.map((spec) => this.registerWorkerAgent(spec))
  }

  /** Problems with files that should be agents: a sentence each. */
  agentProblems(): readonly string[] {
    return kernelOf(this).use(subagentsFeature).agents.problems
  }

  /** Gives one task to an agent, or several with `{ tasks: [...] }`, as the tool `task` does. */
  async task(
    task: TaskOptions | { readonly tasks: readonly Omit<TaskOptions, 'background'>[] },
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ToolResult> {
    return startTask(kernelOf(this), task, options.signal)
  }

  /** Gives several tasks that run at the same time, as the tool `parallel_task` does. */
  async tasks(
    tasks: readonly Omit<TaskOptions, 'background'>[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ToolResult> {
    return startTasks(kernelOf(this), tasks, options.signal)
  }

  /** Every task that is still known, also those of an earlier process. */
  async subagentTasks(): Promise<SubagentTaskSnapshot[]> {
    return knownTasks(kernelOf(this))?.list() ?? []
  }

  /** The tasks that wait or are at work. */
  async pendingSubagentTasks(): Promise<SubagentTaskSnapshot[]> {
    return knownTasks(kernelOf(this))?.pending() ?? []
  }

  async subagentTask(taskId: string): Promise<SubagentTaskSnapshot | null> {
    return knownTasks(kernelOf(this))?.get(taskId) ?? null
  }

  /** Ends a task; nothing of it is left when this resolves. False when no such task waits or is at work. */
  async cancelSubagentTask(taskId: string): Promise<boolean> {
    return knownTasks(kernelOf(this))?.cancel(taskId) ?? false
  }

  /**
   * Runs steps at the same time; their outcomes come in the order of the steps, and a failed step says so in its
   * outcome.
   */
  async parallel(specs: readonly StepSpec[]): Promise<StepOutcome[]>
  /** Runs steps with a number of tokens for all of them: once they are used up, no further request is sent. */
  async parallel(specs: readonly StepSpec[], budgetTokens: number): Promise<ParallelOutcome>
  async parallel(
    specs: readonly StepSpec[],
    budgetTokens?: number,
  ): Promise<StepOutcome[] | ParallelOutcome> {
    return parallel(kernelOf(this), specs, budgetTokens)
  }

  /**
   * Runs steps and remembers them by the id: started again after a crash, only steps that did not succeed run. Needs a
   * store.
   */
  async parallelResumable(specs: readonly StepSpec[], workflowId: string): Promise<StepOutcome[]> {
    return parallelResumable(kernelOf(this), specs, workflowId)
  }

  /**
   * Passes each item through all stages, independently of the others. A stage creates the next step from the outcome
   * before it, or null to end there. Returns the last outcome of each item; null where a stage failed or created no
   * first step.
   */
  async pipeline<Item>(
    items: readonly Item[],
    stages: readonly PipelineStage<Item>[],
    timeoutMs?: number,
  ): Promise<(StepOutcome | null)[]> {
    return pipeline(kernelOf(this), items, stages, timeoutMs)
  }

  // Skills and memory

  /** The skills that were found, in the order in which they count, without their texts. */
  async skills(): Promise<SkillInfo[]> {
    return kernelOf(this).use(skillsFeature).list()
  }

  /** Problems with files that should be skills, and names that were taken: a sentence each. */
  async skillProblems(): Promise<readonly string[]> {
    return (await kernelOf(this).use(skillsFeature).library()).problems
  }

  /** Whether the session has a memory store. Without one the methods below throw `MemoryError`. */
  get hasMemory(): boolean {
    return kernelOf(this).options.memoryStore !== undefined
  }

  /** Remembers a way that worked. The tools are tags that it is found by. Resolves when it is saved. */
  async rememberSuccess(prompt: string, tools: readonly string[], result: string): Promise<MemoryItem> {
    return (await memoryOf(kernelOf(this))).rememberSuccess(prompt, tools, result)
  }

  /** Remembers what went wrong, to be avoided. */
  async rememberFailure(prompt: string, error: string, tools: readonly string[]): Promise<MemoryItem> {
    return (await memoryOf(kernelOf(this))).rememberFailure(prompt, error, tools)
  }

  /** The memories that fit a text best: by its words, and by meaning where the session has an embedder. */
  async recallSimilar(query: string, limit = 5): Promise<RecalledMemory[]> {
    return (await memoryOf(kernelOf(this))).recallSimilar(query, limit)
  }

  /** The memories that have any of the tags. Names of tools are tags. */
  async recallByTags(tags: readonly string[], limit = 10): Promise<RecalledMemory[]> {
    return (await memoryOf(kernelOf(this))).recallByTags(tags, limit)
  }

  /** The newest memories of the store, of all sessions that share it. */
  async memoryRecent(limit = 10): Promise<MemoryItem[]> {
    return (await memoryOf(kernelOf(this))).recent(limit)
  }

  /** Deletes a memory of the store by its id. False when there is none. */
  async forgetMemory(id: string): Promise<boolean> {
    return (await memoryOf(kernelOf(this))).forget(id, 'host')
  }

  async memoryStats(): Promise<MemoryStats> {
    return (await memoryOf(kernelOf(this))).stats()
  }

  /** What this session remembered, the newest first. */
  async getShortTerm(): Promise<readonly MemoryItem[]> {
    return (await memoryOf(kernelOf(this))).shortTerm()
  }

  /** Empties the short-term list. Returns how many there were. What is in the store stays. */
  async clearShortTerm(): Promise<number> {
    return (await memoryOf(kernelOf(this))).clearShortTerm()
  }

  /** The memories that the model was last shown, the newest first. */
  async getWorking(): Promise<readonly MemoryItem[]> {
    return (await memoryOf(kernelOf(this))).working()
  }

  /** Empties the working list. Returns how many there were. */
  async clearWorking(): Promise<number> {
    return (await memoryOf(kernelOf(this))).clearWorking()
  }

  // MCP servers and the supervisor

  /** Starts or connects to an MCP server. Its tools are called `mcp__<name>__<tool>`; returns how many there are. */
  async addMcpServer(server: McpServerOptions): Promise<number>
  /** Starts or connects to an MCP server, with its options by position. */
  async addMcpServer(
    name: string,
    transport?: McpTransportName,
    command?: string,
    args?: readonly string[],
    url?: string,
    headers?: Readonly<Record<string, string>>,
    env?: Readonly<Record<string, string>>,
    timeoutMs?: number,
  ): Promise<number>
  async addMcpServer(
    name: string | McpServerOptions,
    transport: McpTransportName = 'stdio',
    command?: string,
    args?: readonly string[],
    url?: string,
    headers?: Readonly<Record<string, string>>,
    env?: Readonly<Record<string, string>>,
    timeoutMs?: number,
  ): Promise<number> {
    if (typeof name === 'object') return this.addMcp(name)
    const server = { name, transport, command, args, url, headers, env, timeoutMs }
    return kernelOf(this).use(mcpFeature).add(server)
  }

  /** Starts or connects to an MCP server, with its options as an object. */
  async addMcp(server: McpServerOptions): Promise<number> {
    return kernelOf(this).use(mcpFeature).add(server)
  }

  /** Ends an MCP server and removes its tools. False when there is none of that name. */
  async removeMcpServer(name: string): Promise<boolean> {
    return kernelOf(this).use(mcpFeature).remove(name)
  }

  /** Another name of `removeMcpServer`. */
  async removeMcp(name: string): Promise<boolean> {
    return this.removeMcpServer(name)
  }

  /** Every MCP server of the session with its state. */
  async mcpStatus(): Promise<McpServerStatus[]> {
    return kernelOf(this).use(mcpFeature).list()
  }

  /** Another name of `mcpStatus`. */
  async mcps(): Promise<McpServerStatus[]> {
    return this.mcpStatus()
  }

  /** Reads again what one server or all servers offer, and connects lost ones at once. */
  async refreshMcpTools(name?: string): Promise<void> {
    return kernelOf(this).use(mcpFeature).refresh(name)
  }

  /** `refreshMcpTools` for all servers, in a session that has used any of them. */
  async refreshUsedMcpTools(): Promise<void> {
    await kernelOf(this).peek(mcpFeature)?.refresh()
  }

  /** Disconnects servers that were not used for this long; their next call connects them again. Returns their names. */
  async disconnectIdleMcp(thresholdMs: number): Promise<string[]> {
    assertIdleThreshold(thresholdMs)
    return (await kernelOf(this).peek(mcpFeature)?.disconnectIdle(thresholdMs)) ?? []
  }

  /** Marks a server as used at this moment, for hosts that use it in a way that the session does not see. */
  async touchMcp(name: string): Promise<void> {
    return kernelOf(this).use(mcpFeature).touch(name)
  }

  /** The `.mcp.json` of the workspace, and whether the user has confirmed it. */
  async mcpFile(): Promise<McpFile | undefined> {
    return kernelOf(this).use(mcpFeature).file()
  }

  /** Confirms `.mcp.json` as it is: its servers can be used, now and in later sessions, until it changes. */
  async confirmMcpFile(confirmation: string): Promise<void> {
    return kernelOf(this).use(mcpFeature).confirmFile(confirmation)
  }

  /** The state of the supervisor: one that was never asked can be seen here. Null without a supervisor. */
  supervisorStatus(): SupervisorStatus | null {
    return supervisorStatus(kernelOf(this))
  }

  // The lanes that calls wait in

  /** Whether calls pass lanes: the session was created with `queueConfig`. */
  hasQueue(): boolean {
    return hasQueue(kernelOf(this))
  }

  /** Sets what does the work of a lane, from the next call on. */
  async setLaneHandler(lane: Lane, handler: LaneHandler): Promise<void> {
    return queueOf(kernelOf(this)).setHandler(lane, handler)
  }

  /** The tasks that workers have taken and that have no result yet. */
  async pendingExternalTasks(): Promise<(ExternalTask & { readonly id: string })[]> {
    return this.hasQueue() ? queueOf(kernelOf(this)).pending() : []
  }

  /** The result of a task that a worker has taken. False when no such task waits for one; nothing is done then. */
  async completeExternalTask(taskId: string, completion: Completion): Promise<boolean> {
    return this.hasQueue() && queueOf(kernelOf(this)).complete(taskId, completion)
  }

  /** How many calls wait, are at work, and are with workers. */
  async queueStats(): Promise<QueueStats> {
    return queueOf(kernelOf(this)).stats()
  }

  /** What was counted so far; null without `enableMetrics`. */
  async queueMetrics(): Promise<QueueMetrics | null> {
    return this.hasQueue() ? queueOf(kernelOf(this)).metrics() : null
  }

  /** The calls that failed in all their attempts; none without `enableDlq`. */
  async deadLetters(): Promise<DeadLetter[]> {
    return this.hasQueue() ? queueOf(kernelOf(this)).deadLetters() : []
  }

  /** Makes the call of a dead letter again, as a direct call of the host, and removes the letter. */
  async retryDeadLetter(commandId: string, options: RetryDeadLetterOptions = {}): Promise<ToolResult> {
    return retryDeadLetter(kernelOf(this), commandId, options)
  }

  /** Lets workers of other processes take tasks over HTTP, on this machine alone by default. Ends with the session. */
  async serveQueue(options: ServeQueueOptions): Promise<QueueDoor> {
    return queueOf(kernelOf(this)).serve(options)
  }

  /** Lets a worker take tasks over a pair of streams. Returns a function that ends that. */
  async attachQueueWorker(streams: WorkerStreams): Promise<() => void> {
    return queueOf(kernelOf(this)).attach(streams)
  }
}

async function* nothing(): AsyncGenerator<never, void, undefined> {
  // An unknown run has no events.
}
