import type { Call, ExpandedCall } from '../authority/call.js'
import { withContainedFiles } from '../authority/contained-files.js'
import { type Authority, type Decision, decide } from '../authority/decide.js'
import { expandOnDisk } from '../authority/expand-on-disk.js'
import { checkSubjects } from '../authority/grant.js'
import type { Verdict } from '../authority/verdict.js'
import { askWatchdog, type WatchdogCall } from '../authority/watchdog.js'
import type { AnyGovernedTool, AnyTool, OutputLimits, Preparation, RunIdentity } from '../tool/contract.js'
import { type Envelope, errorEnvelope } from '../tool/envelope.js'
import { describeUnknownTool, messageOf } from '../tool/errors.js'
import { governTool } from '../tool/govern.js'
import { applyToolInput } from '../tool/middleware.js'
import { parseToolArgs, serializeToolOutput } from '../tool/serialize.js'
import { copySubject, type Subject } from '../tool/subject.js'
import { isThenable } from '../tool/thenable.js'
import { adviceFor, howToAllow, seekApproval, toolCallIdOf } from './approval-step.js'
import type { RefusedAsk } from './ask.js'
import { boundOutput, defaultMaxBytes } from './bound-output.js'
import { recordOf } from './call-record.js'
import { execute } from './execute-step.js'
import type {
  ApprovalTexts,
  CallRecord,
  GateCall,
  GateOutcome,
  GateParts,
  HookCall,
  HookVerdict,
  Step,
} from './gate-parts.js'
import { guarded, whileRunning } from './guarded.js'
import { rewriteOutput } from './rewrite-output.js'
import { copyOrStop, ShownArguments } from './shown-arguments.js'
import { Stopped } from './stopped.js'
import { prepareWritten, readWritten } from './written-arguments.js'

/** The path of every tool call: of the model, the host, programs, subagents and MCP clients. */
export interface Gate {
  /** Makes a call. Never rejects: there is always an envelope, and a record of the decision. */
  call(request: GateCall): Promise<GateOutcome>
  /** Returns the calls that were refused because no user could be asked, since the last call of this method. */
  takeRefusedAsks(): readonly RefusedAsk[]
  /** Whether it has no state from earlier calls: a new gate from the same parts would decide in the same way. */
  readonly isFresh: boolean
}

/**
 * Creates the gate of a session. A call is resolved, parsed, checked once, compared with its grant, judged by rules and
 * watchdog, approved if that is required, run under a deadline, limited and recorded. Each step can end the call, with
 * a text that says what was wrong and what to do next.
 *
 * @example
 * const gate = createGate({ tools, authorityFor, spill, now: Date.now, newId: randomUUID })
 * const { envelope } = await gate.call({ name: 'read', input: { value: { file_path: 'a.txt' } }, origin: 'host' })
 */
export function createGate(parts: GateParts): Gate {
  const refused: RefusedAsk[] = []
  const governed = new WeakMap<AnyTool, Promise<AnyGovernedTool>>()
  const untrusted: CallState['untrusted'] = {}
  return {
    async call(request) {
      const { id, start, run, notices } = begin(parts)
      const state: CallState = {
        request,
        parts,
        refused,
        governed,
        untrusted,
        id,
        start,
        run,
        notices,
        step: 'resolve',
        text: '',
        checked: '',
      }
      const { envelope, fatal } = await runSteps(state)
      request.slot?.leave()
      const record = recordOf(state, envelope)
      try {
        const recording = parts.record?.(record)
        if (isThenable(recording)) await recording
      } catch (error) {
        return { envelope, record, fatal: { error } }
      }
      return { envelope, record, fatal }
    },
    takeRefusedAsks: () => refused.splice(0),
    get isFresh() {
      return refused.length === 0 && untrusted.tool === undefined
    },
  }
}

/** The state of one call: what each step found out for the steps after it. */
export type CallState = {
  readonly request: GateCall
  readonly parts: GateParts
  readonly refused: RefusedAsk[]
  readonly governed: WeakMap<AnyTool, Promise<AnyGovernedTool>>
  /** The last tool that returned untrusted text, which may have influenced what the model does next. */
  readonly untrusted: { tool?: string | undefined }
  readonly id: string
  readonly start: number
  readonly run?: RunIdentity | undefined
  readonly notices: string[]
  step: Step
  /** The arguments as JSON text. */
  text: string
  /** The validated arguments as JSON text: what was judged. Arguments that differ from it do not run. */
  checked: string
  /** The parsed text of a model; absent for values from code. */
  written?: { readonly value: unknown } | undefined
  tool?: AnyGovernedTool | undefined
  authority?: Authority | undefined
  expanded?: ExpandedCall | undefined
  decision?: Decision | undefined
  watchdog?: Verdict | undefined
  hooks?: CallRecord['hooks']
  /** Why a user must decide, regardless of rules and handlers. */
  insisted?: string | undefined
  /** A hook wants the approvals handler to decide. */
  requested?: ApprovalTexts | undefined
  approval?: string | undefined
  /** Digests of the files whose content decides what the call does, by path. */
  pins?: ReadonlyMap<string, string> | undefined
  /** The call takes its turn in the session's order of writing calls. */
  writer?: boolean | undefined
  /** An error inside the call that must end the run. */
  fatal?: { readonly error: unknown } | undefined
}

export type Ready = Preparation & { ok: true }

/**
 * A failing clock or id source must not make the gate reject: the call continues without it, and its record states
 * that.
 */
function begin({ newId, now, run }: GateParts): Pick<CallState, 'id' | 'start' | 'run' | 'notices'> {
  try {
    const identity = typeof run === 'function' ? run() : run
    return { id: newId(), start: now(), notices: [], run: identity }
  } catch (error) {
    return { id: 'call', start: 0, notices: [`the host gave no id or time: ${messageOf(error)}`] }
  }
}

type Passed = Pick<GateOutcome, 'envelope' | 'fatal'>

async function runSteps(state: CallState): Promise<Passed> {
  try {
    const tool = await resolve(state)
    const written = parse(state)
    const rewritten = rewriteInput(state, written)
    const value = rewritten instanceof Promise ? await rewritten : rewritten
    let ready = await judgeArguments(state, tool, value)
    const asked = beforeHooks(state, ready)
    const changed = asked instanceof Promise ? await asked : asked
    // A call that a hook changed is a new call: it is checked and judged like any other.
    if (changed !== undefined) {
      ready = await judgeArguments(state, tool, takeValue(state, changed.args))
    }
    judgeAgain(state, tool)
    const approval = seekApproval(state, tool, ready)
    if (approval !== undefined) {
      await approval
      if (state.approval !== undefined) await refuseChangedTool(state, tool)
      judgeWaited(state, tool)
    }
    const budget = checkBudget(state, ready)
    if (budget !== undefined) {
      await budget
      judgeWaited(state, tool)
    }
    const envelope = await execute(state, tool, ready, () => judgeWaited(state, tool))
    const finished = await finish(state, tool, ready, envelope)
    return { envelope: finished, fatal: state.fatal }
  } catch (thrown) {
    if (!(thrown instanceof Stopped)) return broken(state, thrown)
    const { envelope, fatal } = thrown
    return fatal === undefined ? refused(state, envelope) : { envelope, fatal }
  }
}

/** Passes a refusal to middleware, which sees what the model gets, whether the call ran or not. */
async function refused(state: CallState, envelope: Envelope): Promise<Passed> {
  const { step } = state
  try {
    return { envelope: await rewriteOutput(state, state.tool, envelope) }
  } catch (thrown) {
    return broken(state, thrown)
  } finally {
    state.step = step
  }
}

/** Refuses the call because a part of the host failed: its guard, its store or its hook. */
function broken({ step }: CallState, thrown: unknown): Passed {
  const text = `The call was refused because the step "${step}" failed: ${messageOf(thrown)}`
  return { envelope: errorEnvelope(text), fatal: { error: thrown } }
}

async function resolve(state: CallState): Promise<AnyGovernedTool> {
  const { request, parts, governed } = state
  const found = parts.tools.get(request.name, request.origin)
  const tool = found?.current === undefined ? found : await currentOf(state, found)
  if (tool === undefined)
    throw new Stopped(describeUnknownTool(request.name, parts.tools.names(request.origin)))
  if (request.form !== undefined) {
    state.tool = request.form
    return request.form
  }
  const known = governed.get(tool) ?? governTool(tool)
  governed.set(tool, known)
  try {
    state.tool = await known
    return state.tool
  } catch (error) {
    // A host's faulty tool must not end the run; it may work again at the next call.
    governed.delete(tool)
    throw new Stopped(messageOf(error))
  }
}

/** Returns the current definition of a tool: its server may have changed it after the model read it. */
async function currentOf({ request }: CallState, tool: AnyTool): Promise<AnyTool | undefined> {
  if (tool.current === undefined) return tool
  try {
    const current = tool.current()
    return isThenable(current) ? await whileRunning(request.signal, current) : current
  } catch (error) {
    if (error instanceof Stopped) throw error
    throw new Stopped(`The tool "${tool.name}" cannot be used now: ${messageOf(error)}`)
  }
}

/** Parses the text of a model; a value from code is copied. */
function parse(state: CallState): unknown {
  state.step = 'parse'
  const { input } = state.request
  return 'value' in input ? takeValue(state, input.value ?? {}) : readWritten(state, input.text)
}

/**
 * Copies a value from code, which can change its value while the call is judged and runs. The text is that of the copy:
 * a value with getters can have other members each time it is read.
 */
function takeValue(state: CallState, value: unknown): unknown {
  const taken = copyOrStop(state, value)
  state.text = serializeToolOutput(taken)
  return taken
}

function parseText(name: string, text: string): unknown {
  try {
    return parseToolArgs(text)
  } catch (error) {
    throw new Stopped(`The arguments of tool "${name}" are not JSON. ${messageOf(error)}`)
  }
}

/** A call for which nothing has to be waited, here and in the steps below, costs no promise for it. */
function rewriteInput(state: CallState, value: unknown): unknown {
  state.step = 'input'
  return state.parts.middleware?.some((one) => one.onToolInput) ? inputFromMiddleware(state, value) : value
}

async function inputFromMiddleware(state: CallState, value: unknown): Promise<unknown> {
  const { request, parts } = state
  const applied = applyToolInput(parts.middleware ?? [], {
    toolName: request.name,
    args: state.text,
    turn: request.turn ?? 0,
    internalCallId: state.id,
    ...toolCallIdOf(request),
  })
  const text = await whileRunning(request.signal, applied)
  if (text === state.text) return value
  state.text = text
  return parseText(request.name, text)
}

/** Decides about the arguments by code alone, before a user is asked. */
async function judgeArguments(state: CallState, tool: AnyGovernedTool, value: unknown): Promise<Ready> {
  const ready = await validate(state, tool, value)
  state.checked = serializeToolOutput(ready.args)
  checkCapability(state)
  applyRules(state)
  const watched = watch(state, ready)
  if (watched !== undefined) await watched
  return ready
}

/** Validates once: the validated value is the one that is judged, approved and run. */
async function validate(state: CallState, tool: AnyGovernedTool, value: unknown): Promise<Ready> {
  state.step = 'validate'
  const prepared = await prepareWritten(state, tool, value)
  if (!prepared.ok) throw new Stopped(prepared.envelope.error_text)
  if (tool.unchecked !== undefined)
    state.notices.push(`the arguments were not checked, the schema cannot be used: ${tool.unchecked}`)
  state.authority = state.parts.authorityFor(tool)
  const call = callOf(state, tool, prepared)
  const found = expandOnDisk(call, state.authority.book.scope, state.parts)
  const expanded = found instanceof Promise ? await found : found
  const contained = withContainedFiles(expanded, state.authority, state.parts.findBelow)
  state.expanded = frozen(contained instanceof Promise ? await contained : contained)
  state.request.slot?.announce(state.expanded.subjects, tool.kind === 'execute')
  return prepared
}

/** A watchdog gets the object that rules judge, also later: it must not take subjects out of it. */
function frozen(expanded: ExpandedCall): ExpandedCall {
  const { call, subjects, possiblePaths, commands } = expanded
  for (const part of [call, subjects, possiblePaths, commands, ...subjects]) Object.freeze(part)
  return Object.freeze(expanded)
}

/** The call has its own subjects: a runtime, which may be created while the tool runs, allows only what was judged. */
function callOf(state: CallState, tool: AnyGovernedTool, ready: Ready): Call {
  const { agentId, sessionId } = state.run ?? {}
  const subjects: Subject[] = []
  for (const subject of ready.subjects) subjects.push(copySubject(subject))
  const call: { -readonly [Name in keyof Omit<Call, 'args'>]: Call[Name] } = {
    tool: tool.name,
    subjects: Object.freeze(subjects),
  }
  if (tool.mcp !== undefined) call.mcp = tool.mcp
  if (agentId !== undefined) call.agent = agentId
  if (sessionId !== undefined) call.session = sessionId
  return new ShownArguments(state, ready).addTo(call)
}

/** Refuses access outside the grant before a user is asked: no approval can extend the grant. */
function checkCapability(state: CallState): void {
  state.step = 'capability'
  const { expanded, authority } = state
  if (expanded?.invalid !== undefined) throw new Stopped(`The call can never run: ${expanded.invalid}.`)
  const refusal = expanded && authority?.grant && checkSubjects(authority.grant, expanded.subjects)
  if (refusal !== undefined) throw new Stopped(refusal.message, { code: 'outside_grant' })
}

/** Applies the rules. The host's own calls are privileged: they skip the rules, and nothing else. */
function applyRules(state: CallState): void {
  state.step = 'rules'
  const { expanded, authority, request } = state
  if (request.origin === 'host' || expanded === undefined || authority === undefined) return
  state.decision = decide(expanded, authority)
  const { verdict } = state.decision
  if (verdict.action !== 'deny') return
  const how = deniedByDefault(state.decision) ? howToAllow(adviceFor(state)) : undefined
  throw new Stopped(`Refused: ${verdict.reason}.${how === undefined ? '' : ` ${how}`}`)
}

/** Returns whether a rule of the session would be enough to allow the call, because only the default denies it. */
function deniedByDefault({ refusal, rules, limits, inherited }: Decision): boolean {
  return (
    refusal === undefined &&
    ![...limits, ...inherited].some(({ verdict }) => verdict.action === 'deny') &&
    rules.subjects.every(({ verdict, decidedBy }) => verdict.action !== 'deny' || decidedBy === 'default')
  )
}

/** Asks the watchdog, which can only narrow the verdict. It can refuse the host's own calls, but not ask about them. */
function watch(state: CallState, ready: Ready): undefined | Promise<void> {
  state.step = 'watchdog'
  const { parts, expanded, request, run } = state
  if (parts.watchdog === undefined || expanded === undefined) return undefined
  const shown = new ShownArguments(state, ready)
  const call: { -readonly [Name in keyof Omit<WatchdogCall, 'args'>]: WatchdogCall[Name] } = {
    tool: request.name,
    expanded,
  }
  if (parts.manifest !== undefined) call.manifest = parts.manifest
  if (run?.sessionId !== undefined) call.session = run.sessionId
  const { watchdogTimeoutMs: timeoutMs } = parts
  const asked = askWatchdog(parts.watchdog, shown.addTo(call), timeoutMs === undefined ? {} : { timeoutMs })
  if (!('action' in asked))
    return whileRunning(request.signal, asked).then((verdict) => readWatchdog(state, shown, verdict))
  readWatchdog(state, shown, asked)
  return undefined
}

function readWatchdog(state: CallState, shown: ShownArguments, verdict: Verdict): void {
  state.watchdog = verdict
  if (verdict.action === 'deny') throw new Stopped(`Refused by the watchdog: ${verdict.reason}.`)
  // Its change has no effect on what runs, but it shows that the watchdog would not allow the call as it is.
  if (shown.wasChanged()) throw new Stopped('Refused: the watchdog changed the arguments it was shown.')
}

type Changed = { readonly args: unknown } | undefined

function beforeHooks(state: CallState, ready: Ready): Changed | Promise<Changed> {
  state.step = 'hooks'
  const { parts } = state
  if (parts.before === undefined) return undefined
  const shown = new ShownArguments(state, ready)
  const verdict = parts.before(hookCall(state, shown))
  return isThenable(verdict)
    ? guarded(state, 'a hook', verdict).then((known) => readVerdict(state, shown, known))
    : readVerdict(state, shown, verdict)
}

function readVerdict(state: CallState, shown: ShownArguments, verdict: HookVerdict): Changed {
  state.hooks = 'ask' in verdict && verdict.ask !== undefined ? 'ask' : verdict.action
  if (verdict.action === 'block') throw new Stopped(`Blocked by ${verdict.by ?? 'a hook'}: ${verdict.reason}`)
  if (verdict.action === 'skip') throw new Stopped(verdict.output, { skipped: true })
  if (verdict.action !== 'change' && verdict.action !== 'continue')
    throw new Stopped('Blocked: a hook returned an invalid answer.')
  if (verdict.ask !== undefined) state.insisted = verdict.ask
  if (verdict.action === 'change') return { args: verdict.args }
  if (verdict.approval !== undefined) state.requested = verdict.approval
  // Hooks change a call by their verdict. A change in place has no effect, which the hook does not expect.
  if (shown.wasChanged()) throw new Stopped('Blocked: a hook changed the arguments it was shown.')
  return undefined
}

function hookCall({ request, id, expanded, text }: CallState, shown: ShownArguments): HookCall {
  return shown.addTo({
    toolName: request.name,
    origin: request.origin,
    callId: id,
    rawArgs: text,
    toolCallId: toolCallIdOf(request).toolCallId,
    subjects: expanded && withLinkTargets(expanded),
    signal: request.signal,
  })
}

/** Returns the subjects of a call, with the targets of the links that it names as separate subjects. */
function withLinkTargets({ call, subjects }: ExpandedCall): readonly Subject[] {
  const all = [...call.subjects]
  for (const subject of subjects)
    if (subject.kind === 'path' && subject.leadsTo !== undefined)
      all.push({ fs: subject.fs, path: subject.leadsTo })
  return all
}

/**
 * Judges again: while a hook was asked or a user decided, rules or mode may have changed. A deny applies even if the
 * user approved.
 */
function judgeAgain(state: CallState, tool: AnyGovernedTool): void {
  const now = state.parts.authorityFor(tool)
  // A parent's authority can change without a change of the child's object.
  if (now === state.authority && now.parent === undefined) return
  state.authority = now
  checkCapability(state)
  applyRules(state)
}

/**
 * Judges again a call that has waited, for an approval, the budget, its turn or its lane. Nothing can be asked any
 * more, so that a call that now needs an approval is refused.
 */
function judgeWaited(state: CallState, tool: AnyGovernedTool): void {
  const { step } = state
  judgeAgain(state, tool)
  refuseUnasked(state)
  state.step = step
}

/** Refuses a call that needs the approval of a user since only the tool's own policy was asked. */
function refuseUnasked(state: CallState): void {
  const { decision, approval } = state
  if (decision?.verdict.action !== 'ask' || (approval !== undefined && approval !== 'policy')) return
  state.step = 'approval'
  const why = decision.verdict.reason ?? 'it must be asked about'
  throw new Stopped(`Refused: ${why}, since the permissions changed while the call waited. Call it again.`)
}

/** Refuses a tool that its server changed after it was shown: the approval covers only the shown definition. */
async function refuseChangedTool(state: CallState, tool: AnyGovernedTool): Promise<void> {
  if (tool.current === undefined || (await currentOf(state, tool)) === tool) return
  throw new Stopped(
    `Refused: the server changed the tool "${tool.name}" while the call waited for approval. Call it again.`,
  )
}

function checkBudget(state: CallState, ready: Ready): undefined | Promise<void> {
  state.step = 'budget'
  const { parts, request } = state
  if (parts.budget === undefined) return undefined
  const shown = new ShownArguments(state, ready)
  const asked = parts.budget(shown.addTo({ toolName: request.name }))
  if (isThenable(asked)) return guarded(state, 'the budget', asked).then(refuseOverBudget)
  refuseOverBudget(asked)
  return undefined
}

function refuseOverBudget(refusal: string | undefined): void {
  if (refusal !== undefined) throw new Stopped(`Refused by the budget: ${refusal}`)
}

/** Limits, rewrites and reports the result. The tool has run, so a failure here must not hide that. */
async function finish(
  state: CallState,
  tool: AnyGovernedTool,
  ready: Ready,
  envelope: Envelope,
): Promise<Envelope> {
  const { parts } = state
  state.step = 'bound'
  const limits = tool.limits ?? parts.outputLimits ?? {}
  const bounding = boundOutput(tool.name, envelope, limits, parts.spill)
  const bounded = bounding instanceof Promise ? await bounding : bounding
  const rewriting = rewriteOutput(state, tool, bounded)
  const rewritten = rewriting instanceof Promise ? await rewriting : rewriting
  const shown = rewritten === bounded ? bounded : await boundAgain(state, tool, rewritten, limits)
  state.step = 'done'
  if (shown.metadata['untrusted'] === true && state.request.origin !== 'host')
    state.untrusted.tool = tool.name
  if (parts.after === undefined) return shown
  try {
    const reported = parts.after(
      Object.assign(hookCall(state, new ShownArguments(state, ready)), { envelope: shown }),
    )
    if (isThenable(reported)) await guarded(state, 'a hook', reported)
  } catch (error) {
    state.notices.push(
      `a hook after the call failed: ${error instanceof Stopped ? 'it did not answer' : messageOf(error)}`,
    )
  }
  return shown
}

/** Limits what middleware returned. Text that was already truncated ends with a note, which must fit too. */
function boundAgain(
  { parts }: CallState,
  tool: AnyGovernedTool,
  envelope: Envelope,
  { maxBytes = defaultMaxBytes, ...limits }: OutputLimits,
): Envelope | Promise<Envelope> {
  return boundOutput(tool.name, envelope, { ...limits, maxBytes: maxBytes + noteBytes }, parts.spill)
}

const noteBytes = 1_024
