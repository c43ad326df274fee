/// <reference lib="esnext.disposable" preserve="true" />

import type { ModeName } from '../authority/mode.js'
import type { CommandHandler, CommandInfo } from '../commands/index.js'
import type { HookConfig, HookEventName, HookHandler, HookMatcher, HookStatus } from '../hooks/index.js'
import type { AskAnswer } from '../loop/ask.js'
import type { BudgetGuard } from '../loop/budget.js'
import type { ClusterEvent } from '../loop/events.js'
import { onAbort } from '../loop/on-abort.js'
import type { AnyTool } from '../tool/contract.js'
import type { Todo } from '../tool/runtime.js'
import type { ToolResult } from '../tool/tool-result.js'
import type { AgentResult } from './agent-result.js'
import { askAside, type SideAnswer } from './btw.js'
import { changeMode } from './change-mode.js'
import { assertBudgetGuard, assertTool, checkOptions } from './check-options.js'
import { emitCluster } from './cluster.js'
import type { PendingConfirmation } from './confirmations.js'
import { SessionCore, type SessionParts } from './core.js'
import { callTool } from './direct-tools.js'
import type { EventStream } from './event-stream.js'
import { listMessages, type MessageInfo, type RewindOutcome, rewind, unrewind } from './history/rewind.js'
import { type FileChangeInfo, listChanges, type UndoOutcome, undo } from './history/undo.js'
import { type HistoryMessage, toHistory } from './history-blocks.js'
import { tasksPart } from './parts/tasks.js'
import { readRequest, type SendOptions, type SendRequest } from './request.js'
import { type ResumeRunOptions, resumeRun } from './resume-run.js'
import type { RunEvent } from './run-events.js'
import type { RunSnapshot } from './runs.js'
import type { Spending } from './spending.js'
import { startRun } from './start-run.js'
import { QueueSurface } from './surface/queue.js'
import { coreOf } from './surface/session-surface.js'
import { checkedTitle } from './title.js'
import { type ToolInfo, toolInfo } from './tool-facts.js'
import type { TraceEvent } from './trace.js'

/**
 * A conversation on a workspace: the object that a host holds. It is made at once; files, rules and models are opened with the first
 * call that needs them. Close it when you are done with it.
 */
export class Session extends QueueSurface {
  /** Sessions are made by `agent.session(...)`. */
  constructor(parts: SessionParts) {
    const core = new SessionCore(parts)
    super(core)
    const { signal } = parts.options
    if (signal === undefined) return
    const undo = onAbort(signal, () => void this.close())
    core.closing.signal.addEventListener('abort', undo, { once: true })
  }

  get sessionId(): string {
    return coreOf(this).parts.sessionId
  }

  /** The real path of the workspace. */
  get workspace(): string {
    return coreOf(this).parts.root
  }

  /** What lists call the session: as it was given, or the first words of its first prompt. Null while there is none. */
  get title(): string | null {
    return coreOf(this).title ?? null
  }

  /** Gives the session a title of 1 to 200 characters, in its store too. */
  async setTitle(title: string): Promise<void> {
    coreOf(this).assertOpen()
    await coreOf(this).setTitle(checkedTitle(title))
  }

  /** What was odd about the options; null when nothing was. */
  get initWarning(): string | null {
    const { warnings } = coreOf(this).parts
    return warnings.length === 0 ? null : warnings.join('\n')
  }

  get tenantId(): string | null {
    return coreOf(this).parts.options.tenantId ?? null
  }

  get principal(): string | null {
    return coreOf(this).parts.options.principal ?? null
  }

  get agentTemplateId(): string | null {
    return coreOf(this).parts.options.agentTemplateId ?? null
  }

  get correlationId(): string | null {
    return coreOf(this).parts.options.correlationId ?? null
  }

  get isClosed(): boolean {
    return coreOf(this).isClosed
  }

  /** Asks, and waits for the answer. While another run is at work it waits its turn. */
  async send(
    request: string | SendRequest,
    more?: readonly HistoryMessage[] | SendOptions,
  ): Promise<AgentResult> {
    const { stream, result } = startRun(coreOf(this), readRequest(request, more))
    // Nobody will read it: what happens must not be kept for that.
    stream.end()
    return result
  }

  /** The same, with everything that happens on the way. The stream owns its run: leaving its loop early cancels it. */
  async stream(
    request: string | SendRequest,
    more?: readonly HistoryMessage[] | SendOptions,
  ): Promise<EventStream> {
    return startRun(coreOf(this), readRequest(request, more)).stream
  }

  /** A message to the run at work, read by the model at the next safe point. False when there is no run. */
  steer(text: string): boolean {
    if (typeof text !== 'string' || text.trim() === '')
      throw new TypeError('steer takes a text that says something.')
    const { active } = coreOf(this)
    if (active === undefined || active.ended || !active.steerable) return false
    coreOf(this).steering.push({ role: 'user', content: [{ type: 'text', text }] })
    return true
  }

  /** The files outside the workspace that the user has open now: `{ad-hoc}` means their directories from the next call on. */
  setAdHocFiles(paths: readonly string[]): void {
    const core = coreOf(this)
    core.assertOpen()
    core.places.setAdHocFiles(paths)
  }

  /** A question on the side: answered from what was said so far, without tools and without leaving a trace in the history. */
  async btw(question: string): Promise<SideAnswer> {
    return askAside(coreOf(this), question)
  }

  /**
   * Tokens and cost of everything that this session has asked of models, for each model too: rounds, subagents, side questions, summaries
   * and generated objects, also of runs that failed, and of earlier processes where the session has a store.
   */
  spending(): Spending {
    return coreOf(this).spending.total()
  }

  /** The messages with their ids, roles and first words: what `rewind` and a fork can be pointed at. */
  messages(): MessageInfo[] {
    return listMessages(coreOf(this))
  }

  /**
   * Goes back to before this message of the user: it and everything behind it is hidden from the history and the model, past a
   * summary too, and stays in the log. Gives its text, to be changed and sent again. Files stay as they are. Refused beside a run.
   */
  async rewind(messageId: string): Promise<RewindOutcome> {
    return rewind(coreOf(this), messageId)
  }

  /** Shows again all that was rewound since something was last said; once something was said it is refused. */
  async unrewind(): Promise<number> {
    return unrewind(coreOf(this))
  }

  /** What tools did to files in a run, or in the last that left a change. Changes by commands are not covered. */
  async changes(runId?: string, options?: { readonly diff?: boolean }): Promise<FileChangeInfo[]> {
    return listChanges(coreOf(this), runId, options)
  }

  /**
   * Puts files back to what they were before a run changed them: file by file, and only those that are still what the run left. The
   * others are named and stay. Without an id it takes the last run of which something can be put back. An undo can be undone by its own
   * id; `host` means direct calls.
   */
  async undo(runId?: string): Promise<UndoOutcome> {
    return undo(coreOf(this), runId)
  }

  history(): HistoryMessage[] {
    return toHistory(coreOf(this).conversation.messages)
  }

  todos(): readonly Todo[] {
    return coreOf(this).plan.list()
  }

  /** Cancels the run at work, and all tasks in the background. False when there was nothing to cancel. */
  cancel(): boolean {
    const core = coreOf(this)
    const cancelled = core.active?.cancel('cancel() was called') ?? false
    return (core.peekPart(tasksPart)?.cancelAll('cancel() was called') ?? false) || cancelled
  }

  /** Goes on with a run whose process ended, from its last finished round. It is a new run, whose totals go on. */
  async resumeRun(runId: string, options?: ResumeRunOptions): Promise<AgentResult> {
    return resumeRun(coreOf(this), runId, options)
  }

  /** Resolves when everything so far is on disk, also for a session in which nothing was said. Without a store it does nothing. */
  async save(): Promise<void> {
    await coreOf(this).keeper?.flush()
  }

  /** Ends everything: the run, those that wait, questions, processes. Once it has been called, nothing new is taken. */
  async close(): Promise<void> {
    await coreOf(this).close()
  }

  /**
   * Ends here without ending the run, before a restart: calls are stopped like in `close`, but nothing of that is written, so another
   * process finds the run cut off, goes on with `resumeRun`, and lists the questions that waited. Without a store it is `close`.
   */
  async suspend(): Promise<void> {
    await coreOf(this).suspend()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async runs(): Promise<RunSnapshot[]> {
    return coreOf(this).runs.list()
  }

  async runSnapshot(runId: string): Promise<RunSnapshot | null> {
    return coreOf(this).runs.get(runId)?.snapshot() ?? null
  }

  async runEvents(runId: string): Promise<RunEvent[]> {
    return coreOf(this).runs.events(runId)
  }

  /** Follows a run without owning it, from a sequence number on. Ends with the run; nothing when there is no such run. */
  watch(
    runId: string,
    options: { readonly from?: number; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<RunEvent, void, undefined> {
    const run = coreOf(this).runs.get(runId)
    return run === undefined ? nothing() : run.events.watch(options.from, options.signal)
  }

  async currentRun(): Promise<RunSnapshot | null> {
    return coreOf(this).active?.record.snapshot() ?? null
  }

  /** False when no such run waits or is at work. */
  async cancelRun(runId: string): Promise<boolean> {
    return coreOf(this).cancelRun(runId)
  }

  /** Of every tool call: what it was, how it was decided and how it went. */
  traceEvents(): TraceEvent[] {
    return coreOf(this).trace.list()
  }

  /** What a tool gives a host. Direct calls are privileged: rules and approval do not apply to them, everything else does. */
  async tool(
    name: string,
    args: unknown = {},
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ToolResult> {
    return callTool(coreOf(this), name, args, options.signal)
  }

  toolNames(): string[] {
    return coreOf(this).shelf.names()
  }

  /** The definition of each tool as the model reads it, with its kind and title for clients. */
  toolDefinitions(): ToolInfo[] {
    const { shelf } = coreOf(this)
    return shelf.known().map((definition) => toolInfo(definition, shelf.get(definition.name)))
  }

  /** Adds a tool, or puts another in the place of one with its name. The model sees it from the next round on. */
  registerTool(tool: AnyTool): void {
    coreOf(this).assertOpen()
    assertTool(tool)
    coreOf(this).shelf.add(tool)
  }

  unregisterTool(name: string): boolean {
    return coreOf(this).shelf.remove(name)
  }

  registerHook<Name extends HookEventName>(
    id: string,
    event: Name,
    matcher: HookMatcher | null | undefined,
    config: HookConfig | null | undefined,
    handler: HookHandler<Name>,
  ): void {
    coreOf(this).hooks.register(id, event, matcher, config, handler)
  }

  unregisterHook(id: string): boolean {
    return coreOf(this).hooks.unregister(id)
  }

  hookCount(): number {
    return coreOf(this).hooks.count()
  }

  /** How each hook is doing: a guard that never ran can be seen here. */
  hookStatus(): HookStatus[] {
    return coreOf(this).hooks.list()
  }

  registerCommand(name: string, description: string, handler: CommandHandler, timeoutMs?: number): void {
    coreOf(this).commands.register(name, description, handler, timeoutMs)
  }

  listCommands(): CommandInfo[] {
    return coreOf(this).commands.list()
  }

  /** Replaces the budget guard; null takes it away. Takes effect with the next call of the model or a tool. */
  setBudgetGuard(guard: BudgetGuard | null): void {
    assertBudgetGuard(guard)
    coreOf(this).guard = guard ?? undefined
  }

  /** Calls that wait for a yes; also those that a process before this one asked about, which `resumeRun` makes. */
  pendingConfirmations(): PendingConfirmation[] {
    return coreOf(this).confirmations.pending()
  }

  /** Answers one of them. False when none waits under this id. `decision` says how far a yes reaches. */
  async confirmToolUse(
    toolId: string,
    approved: boolean,
    reason?: string,
    decision?: AskAnswer['decision'],
  ): Promise<boolean> {
    return coreOf(this).confirmations.confirm(toolId, approved, reason, decision)
  }

  /** Refuses all of them, and says how many there were. */
  async cancelConfirmations(): Promise<number> {
    const reason = 'All confirmations were cancelled.'
    const { confirmations } = coreOf(this)
    return confirmations.cancelAll(reason) + confirmations.refuseSaved(reason)
  }

  /** A mode is a set of permissions and binds from the next call on. */
  async setMode(mode: ModeName | undefined): Promise<void> {
    coreOf(this).assertOpen()
    // A name that nobody knows would be no mode at all, and hold nothing back.
    if (mode !== undefined) checkOptions({ mode })
    const { authority } = await coreOf(this).engine()
    await changeMode(coreOf(this), authority, mode)
  }

  /** The mode that applies now; undefined when there is none. */
  async mode(): Promise<ModeName | undefined> {
    return coreOf(this).mode()
  }

  /** The model of the next round, as `provider/model`. */
  modelName(): string {
    const { provider, id } = coreOf(this).model()
    return `${provider}/${id}`
  }

  /** Changes the model from the next round on, in the store too. `name` is `provider/model` of the configuration. */
  async setModel(name: string): Promise<void> {
    coreOf(this).assertOpen()
    await coreOf(this).setModel(name)
  }

  /** Tells the session's hooks, and the run at work, what happens around it. */
  async emitClusterEvent(event: ClusterEvent): Promise<void> {
    await emitCluster(coreOf(this), event)
  }
}

async function* nothing(): AsyncGenerator<never, void, undefined> {
  // A run that is not known has no events.
}
