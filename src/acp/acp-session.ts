import type { AskAnswer, AskRequest } from '../loop/ask.js'
import type { AgentEvent } from '../loop/events.js'
import { EditWatch } from '../session/history/watch-edits.js'
import type { SessionOptions } from '../session/options.js'
import type { SendRequest } from '../session/request.js'
import type { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'
import { factsOf } from '../session/tool-facts.js'
import { CapstanError } from '../tool/errors.js'
import type { AgentMiddleware } from '../tool/middleware.js'
import type { AcpHost } from './acp-host.js'
import { callTitle } from './call-title.js'
import { elicit } from './elicit.js'
import type { Place } from './options.js'
import { replay } from './replay.js'
import { diffContent, requestPermission } from './request-permission.js'
import { invalidParams } from './rpc-error.js'
import {
  configOptionsOf,
  modesOf,
  readMode,
  readThoughtLevel,
  type Settings,
  type ThoughtLevel,
  thoughtLevels,
} from './settings.js'
import { UpdateWriter } from './update-writer.js'
import type { SessionUpdate, StopReason, WireConfigOption, WireModes, WireToolContent } from './wire.js'

/** An open session, and what its client has received of it. */
export class AcpSession {
  readonly session: Session
  readonly place: Place
  readonly #host: AcpHost
  readonly #writer: UpdateWriter
  readonly #edits: EditWatch
  /** The file changes of calls whose end was not sent yet. */
  readonly #changes = new Map<string, readonly WireToolContent[]>()
  readonly #prompts = new Set<AbortController>()
  #lastAsk: Promise<unknown> = Promise.resolve()
  #thoughtLevel: ThoughtLevel = 'default'
  /** What the client has received, so that only changes are sent. */
  #shown = { title: '', settings: '', mode: '', commands: '' }

  constructor(host: AcpHost, place: Place, options: SessionOptions) {
    this.#host = host
    this.place = place
    this.#edits = new EditWatch(place.workspace, ({ toolCallId, callId, edits }) => {
      this.#changes.set(
        toolCallId ?? callId,
        edits.map((edit) => diffContent(edit, place.workspace)),
      )
    })
    this.session = place.open({
      sessionStore: place.store,
      onAsk: (request) => this.#ask(request),
      ...(host.client.can('elicitation', 'form') && {
        onQuestion: (questions, from, call) =>
          elicit(host.client, this.id, questions, from, this.#turnSignal(call?.signal)),
      }),
      ...options,
      middleware: [this.#edits.middleware, this.#thinking(), ...(options.middleware ?? [])],
    })
    this.#shown.title = this.session.title ?? ''
    this.#writer = new UpdateWriter({
      contextSize: () => kernelOf(this.session).models.current().facts.contextTokens,
      costUsd: () => this.session.spending().costUsd,
      changesOf: (toolId) => this.#changes.get(toolId) ?? [],
      now: () => host.options.now(),
    })
  }

  get id(): string {
    return this.session.sessionId
  }

  /** Runs a prompt and sends its events. Resolves with the stop reason; rejects if the run failed. */
  async prompt(request: SendRequest, signal: AbortSignal): Promise<StopReason> {
    const stopping = new AbortController()
    this.#prompts.add(stopping)
    const all = AbortSignal.any([stopping.signal, signal])
    let stop: StopReason = 'cancelled'
    let hasStarted = false
    try {
      const stream = await this.session.stream({ ...request, signal: all })
      for await (const event of stream) {
        hasStarted ||= event.type === 'agent_start'
        await this.#show(event)
        stop = stopReasonOf(event) ?? stop
      }
      return stop
    } finally {
      this.#prompts.delete(stopping)
      // The client no longer answers approvals and questions of this turn.
      stopping.abort()
      // A prompt that was only queued must not end the calls of the active one.
      if (hasStarted) await this.#endTurn(stop)
    }
  }

  /** Cancels every active or queued prompt. */
  cancel(): void {
    for (const stopping of this.#prompts) stopping.abort()
  }

  /** Sends the conversation so far. */
  async replay(): Promise<void> {
    for (const update of replay(this.session, this.#writer)) await this.send(update)
  }

  /** The modes and the options for the response that opens the session. */
  async settings(): Promise<{ readonly modes: WireModes; readonly configOptions: WireConfigOption[] }> {
    const settings = await this.#settings()
    const modes = modesOf(settings)
    const configOptions = configOptionsOf(settings)
    this.#shown.settings = JSON.stringify(configOptions)
    this.#shown.mode = modes.currentModeId
    return { modes, configOptions }
  }

  async configOptions(): Promise<WireConfigOption[]> {
    return configOptionsOf(await this.#settings())
  }

  async setMode(id: string): Promise<void> {
    const mode = readMode(id)
    if (mode === undefined) throw invalidParams(`There is no mode ${JSON.stringify(id)}.`)
    await this.session.setMode(mode ?? undefined)
  }

  async setOption(id: string, value: string): Promise<void> {
    switch (id) {
      case 'mode':
        return this.setMode(value)
      case 'model':
        if (!this.place.models.includes(value))
          throw invalidParams(`There is no model ${JSON.stringify(value)} in the configuration.`)
        return this.session.setModel(this.place.resolveModel(value))
      case 'thought_level': {
        const level = readThoughtLevel(value)
        if (level === undefined) throw invalidParams(`There is no thought level ${JSON.stringify(value)}.`)
        this.#thoughtLevel = level
        return
      }
      default:
        throw invalidParams(`There is no option ${JSON.stringify(id)}.`)
    }
  }

  /** Sends what has changed since the last update: title, mode, options, commands. */
  async showChanges(): Promise<void> {
    if (this.session.isClosed) return
    const { title } = this.session
    if (title !== null && title !== this.#shown.title) {
      this.#shown.title = title
      const updatedAt = new Date(this.#host.options.now()).toISOString()
      await this.send({ sessionUpdate: 'session_info_update', title, updatedAt })
    }
    await this.#showSettings()
    const availableCommands = this.session.listCommands().map(({ name, description, usage }) => ({
      name,
      description,
      input: usage === undefined ? undefined : { hint: usage },
    }))
    const commands = JSON.stringify(availableCommands)
    if (commands === this.#shown.commands) return
    this.#shown.commands = commands
    await this.send({ sessionUpdate: 'available_commands_update', availableCommands })
  }

  /** Sends an update. A notice that the client cannot show is written to its log. */
  async send(update: SessionUpdate): Promise<void> {
    const isSent = await this.#host.client.update(this.id, update)
    if (!isSent && update.sessionUpdate === 'notice') this.#host.options.report(update.title)
  }

  async #endTurn(stop: StopReason): Promise<void> {
    this.#edits.clear()
    this.#changes.clear()
    const status = stop === 'end_turn' ? 'completed' : 'failed'
    for (const update of this.#writer.endOpenCalls(status)) await this.send(update)
    await this.showChanges()
  }

  async #show(event: AgentEvent): Promise<void> {
    for (const update of this.#writer.write(event)) await this.send(update)
    if (event.type === 'agent_mode_changed') await this.#showSettings()
    if (event.type === 'tool_end') this.#changes.delete(event.toolId)
  }

  async #showSettings(): Promise<void> {
    const settings = await this.#settings()
    const { currentModeId } = modesOf(settings)
    const configOptions = configOptionsOf(settings)
    const text = JSON.stringify(configOptions)
    if (currentModeId !== this.#shown.mode) {
      this.#shown.mode = currentModeId
      await this.send({ sessionUpdate: 'current_mode_update', currentModeId })
    }
    if (text === this.#shown.settings) return
    this.#shown.settings = text
    await this.send({ sessionUpdate: 'config_option_update', configOptions })
  }

  async #settings(): Promise<Settings> {
    return {
      mode: await this.session.mode(),
      model: this.session.modelName(),
      models: this.place.models,
      thoughtLevel: kernelOf(this.session).models.current().facts.reasoning ? this.#thoughtLevel : undefined,
    }
  }

  /** Asks one question at a time, so that the user answers the one on the screen. */
  #ask(request: AskRequest): Promise<AskAnswer> {
    const signal = this.#turnSignal()
    const asked = this.#lastAsk.then(() => this.#askNow(request, signal))
    this.#lastAsk = asked.catch(() => undefined)
    return asked
  }

  async #askNow(request: AskRequest, signal: AbortSignal): Promise<AskAnswer> {
    const cancelled: AskAnswer = { decision: 'reject', message: 'The turn was cancelled.', automatic: true }
    if (signal.aborted) return cancelled
    const { toolName, args } = request
    const toolId = request.toolCallId ?? request.id
    const facts = { toolName, ...factsOf(kernelOf(this.session).tools.get(toolName) ?? { name: toolName }) }
    if (!this.#writer.knows(toolId)) await this.send(this.#writer.announce(toolId, facts, args))
    const answer = await requestPermission({
      client: this.#host.client,
      sessionId: this.id,
      toolCall: {
        toolCallId: toolId,
        title: callTitle(facts.title, args),
        kind: facts.kind,
        rawInput: args,
      },
      request,
      root: this.place.workspace,
      signal,
    })
    if (answer !== 'cancelled') return answer
    this.cancel()
    return cancelled
  }

  /** Aborted when the active prompt ends or the client disconnects. */
  /** Returns a signal that is aborted when the turn ends, the client disconnects, or the given signal is aborted. */
  #turnSignal(other?: AbortSignal | undefined): AbortSignal {
    const [active] = this.#prompts
    const { signal } = this.#host.client
    return AbortSignal.any([signal, active?.signal, other].filter((one) => one !== undefined))
  }

  #thinking(): AgentMiddleware {
    return {
      onCompletionRequest: ({ request }) => {
        const { budget } = thoughtLevels[this.#thoughtLevel]
        if (budget === undefined) return undefined
        const additionalParams = { ...request.additionalParams, thinkingBudget: budget }
        return { request: { ...request, additionalParams } }
      },
    }
  }
}

/** Returns why a prompt ends with this event; undefined for other events. Throws the error of a failed run. */
function stopReasonOf(event: AgentEvent): StopReason | undefined {
  switch (event.type) {
    case 'agent_cancelled':
      return 'cancelled'
    case 'agent_end':
      if (event.result.finish === 'length') return 'max_tokens'
      if (event.result.finish === 'content_filter') return 'refusal'
      return event.result.finish === 'stop_condition' ? 'max_turn_requests' : 'end_turn'
    case 'error':
      if (event.code === 'max_tool_rounds') return 'max_turn_requests'
      throw new CapstanError(event.code ?? 'run_failed', event.error)
    default:
      return undefined
  }
}
