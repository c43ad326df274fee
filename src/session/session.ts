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
import { verifyFeature } from '../verify/feature.js'
import { formatVerificationSummary, type GivenReport, type VerificationPreset } from '../verify/index.js'
import { hostVerifier } from '../verify/verification.js'
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
 * A conversation with a model on a workspace. Creating a session is cheap: files, rules and models are opened by the
 * first call that needs them. Close the session when it is no longer needed.
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
    // Every call of `close` gets the same error.
    const undo = onAbort(signal, () => void this.close().catch(() => undefined))
    kernel.signal.addEventListener('abort', undo, { once: true })
  }

  // Identity and life cycle

  get sessionId(): string {
    return kernelOf(this).sessionId
  }

  /** The real path of the workspace. */
  get workspace(): string {
    return kernelOf(this).root
  }

  /** The title: the one that was set, or the first words of the first prompt. Null before the first prompt. */
  get title(): string | null {
    return kernelOf(this).log.title.current ?? null
  }

  /** Sets the title, 1 to 200 characters, and stores it. */
  async setTitle(title: string): Promise<void> {
    const kernel = kernelOf(this)
    kernel.assertOpen()
    const checked = checkedTitle(title)
    kernel.log.title.set(checked)
    await kernel.log.recorder?.session({ title: checked })
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

  /** Resolves when everything so far is on disk, even without messages. Does nothing without a store. */
  async save(): Promise<void> {
    await kernelOf(this).log.recorder?.flush()
  }

  /**
   * Cancels the active run, queued runs and open questions, and ends all processes. Later calls are rejected. Rejects
   * if the last records could not be written and no other call has reported it.
   */
  async close(): Promise<void> {
    await kernelOf(this).close()
  }

  /**
   * Closes the session before a restart without cancelling its run. Calls are stopped as in `close`, but the log does
   * not record an end, so another process finds an interrupted run, lists its open questions and continues it with
   * `resumeRun`. Without a store it is the same as `close`.
   */
  async suspend(): Promise<void> {
    await kernelOf(this).suspend()
  }

  /**
   * Suspends the session at the next safe point: after the current round, immediately when there is no run or the run
   * only waits for an approval, and at the deadline in any case. Hooks and the run get
   * `passivation_requested`. Resolves when the session is closed.
   */
  async passivate(options: PassivateOptions): Promise<void> {
    await passivate(kernelOf(this), options)
  }

  /** Returns whether the run is blocked until a user approves, rejects or answers. Suspending it then loses no work. */
  isWaitingForUser(): boolean {
    return isWaitingForUser(kernelOf(this))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  // Runs

  /** Sends a prompt and waits for the answer. If another run is active, the prompt is queued. */
  async send(
    request: string | SendRequest,
    more?: readonly HistoryMessage[] | SendOptions,
  ): Promise<AgentResult> {
    const { stream, result } = startRun(kernelOf(this), readRequest(request, more))
    // Nothing reads the stream, so its events must not accumulate.
    stream.end()
    return result
  }

  /** Sends a prompt and returns the events of the run. Leaving the loop over the stream early cancels the run. */
  async stream(
    request: string | SendRequest,
    more?: readonly HistoryMessage[] | SendOptions,
  ): Promise<EventStream> {
    return startRun(kernelOf(this), readRequest(request, more)).stream
  }

  /** Adds a message to the active run; the model reads it before its next request. Returns false without a run. */
  steer(text: string): boolean {
    if (typeof text !== 'string' || text.trim() === '')
      throw new TypeError('steer takes a text that is not empty.')
    const { active } = kernelOf(this).queue
    if (active === undefined || active.ended || !active.steerable) return false
    active.steering.push({ role: 'user', content: [{ type: 'text', text }] })
    return true
  }

  /** Asks a side question: it is answered from the conversation, without tools, and is not added to the history. */
  async btw(question: string): Promise<SideAnswer> {
    return askAside(kernelOf(this), question)
  }

  /** Cancels the active run and all background tasks. Returns false when there was nothing to cancel. */
  cancel(): boolean {
    const kernel = kernelOf(this)
    const reason = 'cancel() was called'
    const cancelled = kernel.queue.active?.cancel(reason) ?? false
    return cancelTasks(kernel, reason) || cancelled
  }

  /** Resumes a run whose process ended, from its last finished round, as a new run that carries over the totals. */
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
   * Returns the events of a run after a sequence number. Leaving the loop does not cancel the run. The iteration ends
   * with the run, and immediately when the run is unknown.
   */
  watch(
    runId: string,
    options: { readonly from?: number; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<RunEvent, void, undefined> {
    const run = kernelOf(this).runs.get(runId)
    return run === undefined ? nothing() : run.events.watch(options.from, options.signal)
  }

  async currentRun(): Promise<RunSnapshot | null> {
    return kernelOf(this).queue.active?.record.snapshot() ?? null
  }

  /** Cancels a run that is active or queued. Returns false when there is no such run. */
  async cancelRun(runId: string): Promise<boolean> {
    return kernelOf(this).queue.cancel(runId, 'cancelRun() was called')
  }

  /** Returns the decision, the timing and the outcome of every tool call. */
  traceEvents(): TraceEvent[] {
    return kernelOf(this).trace.list()
  }

  /**
   * Returns the tokens and the cost of all model requests of this session, in total and per model: rounds, subagents,
   * side questions, summaries and generated objects. Includes failed runs and earlier processes of a stored session.
   */
  spending(): Spending {
    return kernelOf(this).spending.total.list()
  }

  /** Replaces the budget guard; null removes it. Takes effect at the next call of the model or a tool. */
  setBudgetGuard(guard: BudgetGuard | null): void {
    assertBudgetGuard(guard)
    kernelOf(this).spending.guard = guard ?? undefined
  }

  // Conversation and files

  history(): HistoryMessage[] {
    return historyOf(kernelOf(this).log.conversation.readAllNow())
  }

  /** Returns the messages with their ids, roles and first words. `rewind` and forks accept these ids. */
  messages(): MessageInfo[] {
    return listMessages(kernelOf(this).log.conversation.readAllNow())
  }

  /**
   * Hides a message of the user and everything after it from the history and the model; the log still has them. Works
   * for messages before a summary too. Returns the text of the message, for example to edit and send it again. Files
   * are not changed. Rejects while a run is active.
   */
  async rewind(messageId: string): Promise<RewindOutcome> {
    return rewind(kernelOf(this), messageId)
  }

  /** Undoes all rewinds since the last message. Rejects after a new message. Returns the number of messages. */
  async unrewind(): Promise<number> {
    return unrewind(kernelOf(this))
  }

  /** Returns the file changes of tools in a run, or in the last run that changed files. Commands are not covered. */
  async changes(runId?: string, options?: { readonly diff?: boolean }): Promise<FileChangeInfo[]> {
    return listChanges(kernelOf(this), runId, options)
  }

  /**
   * Restores the files that a run changed to their earlier content. A file that was changed again since then is not
   * restored, and is listed in the outcome. Without an id, the last run with restorable changes is undone. An undo has
   * an id and can be undone too; the id `host` means direct calls.
   */
  async undo(runId?: string): Promise<UndoOutcome> {
    return undo(kernelOf(this), runId)
  }

  /**
   * On an overlay: writes all changes to the underlying directory, or none of them. Fails with `file_changed` or
   * `files_not_changed` when a file there was modified since its first change in the overlay; the changes then stay in
   * the overlay. On other workspaces: fails with `commit_unavailable`.
   */
  async commit(): Promise<CommitOutcome> {
    const kernel = kernelOf(this)
    return kernel.alone('committing', async () => (await kernel.engine.open()).workspace.commit())
  }

  /** On an overlay: drops all changes that were not committed. On other workspaces: fails with `commit_unavailable`. */
  async discard(): Promise<DiscardOutcome> {
    const kernel = kernelOf(this)
    return kernel.alone('discarding', async () => (await kernel.engine.open()).workspace.discard())
  }

  /**
   * Returns what fills the model's context window (system prompt, tools, files, memories, conversation) and the size at
   * which it is compacted. Sends no request.
   */
  async contextUsage(): Promise<ContextUsage> {
    const kernel = kernelOf(this)
    kernel.assertOpen()
    return kernel.contextUsage(kernel.signal)
  }

  /**
   * Replaces what the model sees of the conversation by a summary; the history does not change. Returns null when a
   * summary would not be shorter, or a hook refused it. Rejects when the model returns no summary, and while a run is
   * active.
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

  /** Sets the files outside the workspace that the user has open. `{ad-hoc}` means their directories from now on. */
  setAdHocFiles(paths: readonly string[]): void {
    const kernel = kernelOf(this)
    kernel.assertOpen()
    kernel.engine.places.setAdHocFiles(paths)
  }

  // Tools, rules and approvals

  /** Calls a tool as the host: permission rules and approvals do not apply, all other checks and limits do. */
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

  /** Returns the definition of each tool as the model reads it, with its kind and title for clients. */
  toolDefinitions(): ToolInfo[] {
    const { tools } = kernelOf(this)
    return tools.known().map((definition) => toolInfo(definition, tools.get(definition.name)))
  }

  /** Adds a tool, or replaces the one with its name. The model sees it from the next round. */
  registerTool(tool: AnyTool): void {
    kernelOf(this).assertOpen()
    assertTool(tool)
    kernelOf(this).tools.add(tool)
  }

  unregisterTool(name: string): boolean {
    return kernelOf(this).tools.remove(name)
  }

  /** Sets the mode: a set of permissions that applies from the next call. */
  async setMode(mode: ModeName | undefined): Promise<void> {
    kernelOf(this).assertOpen()
    // With an unknown name there would be no mode, and no restriction.
    if (mode !== undefined) checkOptions({ mode })
    const { authority } = await kernelOf(this).engine.open()
    await changeMode(kernelOf(this), authority, mode)
  }

  /** Returns the current mode; undefined when there is none. */
  async mode(): Promise<ModeName | undefined> {
    return kernelOf(this).engine.mode()
  }

  /** Returns the model of the next round, as `provider/model`. */
  modelName(): string {
    const { provider, id } = kernelOf(this).models.current()
    return `${provider}/${id}`
  }

  /** Changes the model from the next round, in the store too: a configured `provider/model`, or a model object. */
  async setModel(model: string | Model): Promise<void> {
    kernelOf(this).assertOpen()
    await kernelOf(this).models.set(model)
  }

  /** Returns the calls that wait for an approval, including those of an earlier process, which `resumeRun` executes. */
  pendingConfirmations(): PendingConfirmation[] {
    return kernelOf(this).confirmations.pending()
  }

  /**
   * Approves or rejects a call that waits. Returns false when no call with this id waits. `decision` is the scope of
   * the approval; `by` names the user in the log.
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

  /** Rejects all calls that wait for an approval. Returns their number. */
  async cancelConfirmations(): Promise<number> {
    const reason = 'All confirmations were cancelled.'
    const { confirmations } = kernelOf(this)
    return confirmations.cancelAll(reason) + confirmations.refuseSaved(reason)
  }

  /** Returns the questions of the model that wait for the user's answer. */
  pendingQuestions(): PendingQuestion[] {
    return kernelOf(this).questions.pending()
  }

  /**
   * Answers a question instead of `onQuestion`, with one list of answers for each part of the question. Aborts the
   * signal that `onQuestion` received. Returns false when no question with this id waits.
   */
  async answerQuestion(questionId: string, answers: QuestionAnswers): Promise<boolean> {
    return kernelOf(this).questions.answer(questionId, answers)
  }

  // Frequent direct calls as methods

  /** Returns the text of a file, or some of its lines. Rejects when the file cannot be read. */
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

  /** Returns the paths that match. Rejects when the list is not complete. */
  async glob(pattern: string, options: { path?: string } = {}): Promise<string[]> {
    const { envelope, output } = await callTool(kernelOf(this), 'host_glob', { pattern, ...options })
    if (envelope.type === 'error' || !Array.isArray(envelope.data)) throw new ToolFailedError('glob', output)
    return envelope.data as string[]
  }

  async grep(pattern: string, options: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return callForText(kernelOf(this), 'grep', { ...options, pattern })
  }

  /** Returns the output of a command for any exit code (`tool('bash', …)` has it). Rejects if it cannot start. */
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

  /** Returns how often each hook ran and failed, for example to find a hook that never matches. */
  hookStatus(): HookStatus[] {
    return kernelOf(this).use(hooksFeature).list()
  }

  /** Passes an event of the cluster to the hooks of the session and to the active run. */
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
   * Runs commands one after the other as direct calls, in the session's shell with its sandbox, environment and limits,
   * and saves a report. A failed command does not reject: the report has its result.
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

  /** Returns every report of this session so far, including those from before it was resumed. */
  verificationReports(): VerificationReport[] {
    return kernelOf(this).use(verifyFeature).reports.list()
  }

  /** Adds reports of checks that ran elsewhere. The status of a report cannot be better than that of its checks. */
  async recordVerificationReports(reports: GivenReport | readonly GivenReport[]): Promise<void> {
    await kernelOf(this).use(verifyFeature).record(reports)
  }

  /** Summarizes the state of the session from the last report about each subject. */
  verificationSummary(): VerificationSummary {
    return kernelOf(this).use(verifyFeature).reports.summary()
  }

  verificationSummaryText(): string {
    return formatVerificationSummary(this.verificationSummary())
  }

  /** Returns the checks that the workspace offers: those of its package managers, languages and makefiles. */
  verificationPresets(): VerificationPreset[] {
    return kernelOf(this).use(verifyFeature).presets()
  }

  /**
   * Asks the session's model for data: a value that matches a Zod schema, any other Standard Schema, or a JSON Schema.
   * The conversation does not change. Throws `ObjectGenerationError` when no answer matches.
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

  /** Returns the agents that can run tasks, with their configuration. */
  agents(): AgentInfo[] {
    return listAgents(kernelOf(this))
  }

  /**
   * Reads the agents of a directory: YAML files, and Markdown files with front matter. Returns their number; problems
   * with other files are reported as notices and by `agentProblems()`.
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

  /** Returns problems with files that should be agents, one sentence each. */
  agentProblems(): readonly string[] {
    return kernelOf(this).use(subagentsFeature).agents.problems
  }

  /** Runs one task with an agent, or several with `{ tasks: [...] }`, like the tool `task`. */
  async task(
    task: TaskOptions | { readonly tasks: readonly Omit<TaskOptions, 'background'>[] },
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ToolResult> {
    return startTask(kernelOf(this), task, options.signal)
  }

  /** Runs several tasks at the same time, like the tool `parallel_task`. */
  async tasks(
    tasks: readonly Omit<TaskOptions, 'background'>[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ToolResult> {
    return startTasks(kernelOf(this), tasks, options.signal)
  }

  /** Returns all tasks in memory, including those of an earlier process. */
  async subagentTasks(): Promise<SubagentTaskSnapshot[]> {
    return knownTasks(kernelOf(this))?.list() ?? []
  }

  /** Returns the tasks that are queued or active. */
  async pendingSubagentTasks(): Promise<SubagentTaskSnapshot[]> {
    return knownTasks(kernelOf(this))?.pending() ?? []
  }

  async subagentTask(taskId: string): Promise<SubagentTaskSnapshot | null> {
    return knownTasks(kernelOf(this))?.get(taskId) ?? null
  }

  /** Cancels a task; its processes have ended when this resolves. Returns false when it is not queued or active. */
  async cancelSubagentTask(taskId: string): Promise<boolean> {
    return knownTasks(kernelOf(this))?.cancel(taskId) ?? false
  }

  /** Runs steps concurrently. Outcomes have the order of the steps; the outcome of a failed step has its error. */
  async parallel(specs: readonly StepSpec[]): Promise<StepOutcome[]>
  /** Runs steps with one token budget for all of them: once it is used up, no further request is sent. */
  async parallel(specs: readonly StepSpec[], budgetTokens: number): Promise<ParallelOutcome>
  async parallel(
    specs: readonly StepSpec[],
    budgetTokens?: number,
  ): Promise<StepOutcome[] | ParallelOutcome> {
    return parallel(kernelOf(this), specs, budgetTokens)
  }

  /**
   * Runs steps and records them under the id: after a crash, only steps that did not succeed run again. Needs a store.
   */
  async parallelResumable(specs: readonly StepSpec[], workflowId: string): Promise<StepOutcome[]> {
    return parallelResumable(kernelOf(this), specs, workflowId)
  }

  /**
   * Passes each item through all stages, independently of the others. A stage creates the next step from the previous
   * outcome, or null to end there. Returns the last outcome of each item; null if a stage failed or created no first
   * step.
   */
  async pipeline<Item>(
    items: readonly Item[],
    stages: readonly PipelineStage<Item>[],
    timeoutMs?: number,
  ): Promise<(StepOutcome | null)[]> {
    return pipeline(kernelOf(this), items, stages, timeoutMs)
  }

  // Skills and memory

  /** Returns the skills by precedence, without their texts. */
  async skills(): Promise<SkillInfo[]> {
    return kernelOf(this).use(skillsFeature).list()
  }

  /** Returns problems with files that should be skills, and names that were already taken, one sentence each. */
  async skillProblems(): Promise<readonly string[]> {
    return (await kernelOf(this).use(skillsFeature).library()).problems
  }

  /** Whether the session has a memory store. Without one the methods below throw `MemoryError`. */
  get hasMemory(): boolean {
    return kernelOf(this).options.memoryStore !== undefined
  }

  /** Saves a successful approach. The names of the tools become its tags. Resolves when it is stored. */
  async rememberSuccess(prompt: string, tools: readonly string[], result: string): Promise<MemoryItem> {
    return (await memoryOf(kernelOf(this))).rememberSuccess(prompt, tools, result)
  }

  /** Saves a failed approach, for the model to avoid. */
  async rememberFailure(prompt: string, error: string, tools: readonly string[]): Promise<MemoryItem> {
    return (await memoryOf(kernelOf(this))).rememberFailure(prompt, error, tools)
  }

  /** Returns the memories that match a text best: by its words, and by meaning if the session has an embedder. */
  async recallSimilar(query: string, limit = 5): Promise<RecalledMemory[]> {
    return (await memoryOf(kernelOf(this))).recallSimilar(query, limit)
  }

  /** Returns the memories that have any of the tags. Names of tools are tags. */
  async recallByTags(tags: readonly string[], limit = 10): Promise<RecalledMemory[]> {
    return (await memoryOf(kernelOf(this))).recallByTags(tags, limit)
  }

  /** Returns the newest memories of the store, from all sessions that share it. */
  async memoryRecent(limit = 10): Promise<MemoryItem[]> {
    return (await memoryOf(kernelOf(this))).recent(limit)
  }

  /** Deletes a memory from the store by its id. Returns false when there is none. */
  async forgetMemory(id: string): Promise<boolean> {
    return (await memoryOf(kernelOf(this))).forget(id, 'host')
  }

  async memoryStats(): Promise<MemoryStats> {
    return (await memoryOf(kernelOf(this))).stats()
  }

  /** Returns the memories that this session saved, newest first. */
  async getShortTerm(): Promise<readonly MemoryItem[]> {
    return (await memoryOf(kernelOf(this))).shortTerm()
  }

  /** Empties the short-term list and returns the number of its items. The store does not change. */
  async clearShortTerm(): Promise<number> {
    return (await memoryOf(kernelOf(this))).clearShortTerm()
  }

  /** Returns the memories that the model was last shown, newest first. */
  async getWorking(): Promise<readonly MemoryItem[]> {
    return (await memoryOf(kernelOf(this))).working()
  }

  /** Empties the working list and returns the number of its items. */
  async clearWorking(): Promise<number> {
    return (await memoryOf(kernelOf(this))).clearWorking()
  }

  // MCP servers and the supervisor

  /** Starts or connects to an MCP server. Its tools are named `mcp__<name>__<tool>`; returns their number. */
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

  /** Stops an MCP server and removes its tools. Returns false when there is none with that name. */
  async removeMcpServer(name: string): Promise<boolean> {
    return kernelOf(this).use(mcpFeature).remove(name)
  }

  /** Another name of `removeMcpServer`. */
  async removeMcp(name: string): Promise<boolean> {
    return this.removeMcpServer(name)
  }

  /** Returns every MCP server of the session with its state. */
  async mcpStatus(): Promise<McpServerStatus[]> {
    return kernelOf(this).use(mcpFeature).list()
  }

  /** Another name of `mcpStatus`. */
  async mcps(): Promise<McpServerStatus[]> {
    return this.mcpStatus()
  }

  /** Reads the offered tools of one server or all servers again, and reconnects lost servers immediately. */
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

  /** Marks a server as used now, for hosts that use it outside the session. */
  async touchMcp(name: string): Promise<void> {
    return kernelOf(this).use(mcpFeature).touch(name)
  }

  /** Returns the `.mcp.json` of the workspace, and whether the user has confirmed it. */
  async mcpFile(): Promise<McpFile | undefined> {
    return kernelOf(this).use(mcpFeature).file()
  }

  /** Confirms the current `.mcp.json`: its servers can be used in this and later sessions until the file changes. */
  async confirmMcpFile(confirmation: string): Promise<void> {
    return kernelOf(this).use(mcpFeature).confirmFile(confirmation)
  }

  /** Returns the state of the supervisor and the number of its requests. Null without a supervisor. */
  supervisorStatus(): SupervisorStatus | null {
    return supervisorStatus(kernelOf(this))
  }

  // The queue of tool calls

  /** Returns whether the session was created with `queueConfig`, so that calls pass through lanes. */
  hasQueue(): boolean {
    return hasQueue(kernelOf(this))
  }

  /** Sets the handler of a lane, from the next call. */
  async setLaneHandler(lane: Lane, handler: LaneHandler): Promise<void> {
    return queueOf(kernelOf(this)).setHandler(lane, handler)
  }

  /** Returns the tasks that workers have taken and not completed. */
  async pendingExternalTasks(): Promise<(ExternalTask & { readonly id: string })[]> {
    return this.hasQueue() ? queueOf(kernelOf(this)).pending() : []
  }

  /** Completes a task that a worker has taken. Returns false, and does nothing, when the task does not wait. */
  async completeExternalTask(taskId: string, completion: Completion): Promise<boolean> {
    return this.hasQueue() && queueOf(kernelOf(this)).complete(taskId, completion)
  }

  /** Returns how many calls are queued, active, and taken by workers. */
  async queueStats(): Promise<QueueStats> {
    return queueOf(kernelOf(this)).stats()
  }

  /** Returns the counters of the queue; null without `enableMetrics`. */
  async queueMetrics(): Promise<QueueMetrics | null> {
    return this.hasQueue() ? queueOf(kernelOf(this)).metrics() : null
  }

  /** Returns the calls that failed in all their attempts; none without `enableDlq`. */
  async deadLetters(): Promise<DeadLetter[]> {
    return this.hasQueue() ? queueOf(kernelOf(this)).deadLetters() : []
  }

  /** Repeats the call of a dead letter, as a direct call of the host, and removes the dead letter. */
  async retryDeadLetter(commandId: string, options: RetryDeadLetterOptions = {}): Promise<ToolResult> {
    return retryDeadLetter(kernelOf(this), commandId, options)
  }

  /** Serves tasks to workers of other processes over HTTP until the session ends, by default on this machine only. */
  async serveQueue(options: ServeQueueOptions): Promise<QueueDoor> {
    return queueOf(kernelOf(this)).serve(options)
  }

  /** Serves tasks to a worker over a pair of streams. Returns a function that detaches the worker. */
  async attachQueueWorker(streams: WorkerStreams): Promise<() => void> {
    return queueOf(kernelOf(this)).attach(streams)
  }
}

async function* nothing(): AsyncGenerator<never, void, undefined> {
  // An unknown run has no events.
}
