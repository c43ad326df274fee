import { type ExpandedCall, expandCall } from '../authority/call.js'
import { type Authority, type Decision, decide } from '../authority/decide.js'
import { checkSubjects } from '../authority/grant.js'
import type { Rule } from '../authority/rule.js'
import type { Verdict } from '../authority/verdict.js'
import { runWatchdog } from '../authority/watchdog.js'
import type { AnyGovernedTool, Preparation, ToolCallContext } from '../tool/contract.js'
import { type Envelope, errorEnvelope } from '../tool/envelope.js'
import { describeUnknownTool, messageOf } from '../tool/errors.js'
import { governTool } from '../tool/govern.js'
import { applyToolInput } from '../tool/middleware.js'
import { parseToolArgs, serializeToolOutput } from '../tool/serialize.js'
import { seekApproval } from './approval-step.js'
import type { RefusedAsk } from './ask.js'
import { boundOutput } from './bound-output.js'
import { withDeadline } from './deadline.js'
import type { CallRecord, GateCall, GateOutcome, GateParts, Step } from './gate-parts.js'
import { rewriteOutput } from './rewrite-output.js'
import { Stopped } from './stopped.js'

/** The path that every tool call walks, whoever calls. */
export interface Gate {
  /** Never rejects: whatever happens, there is an envelope, and a record of what was decided. */
  call(request: GateCall): Promise<GateOutcome>
  /** The calls that were refused because nobody was there to be asked. */
  refusedAsks(): readonly RefusedAsk[]
}

const stopGraceMs = 2_000

/**
 * Makes the gate of a session from its parts. A call is resolved, parsed, checked once, held to its grant, judged by rules and
 * watchdog, approved where that is asked for, run under a deadline, bounded, and recorded. Each step may end it with words that
 * say what was wrong and what to do next.
 */
export function createGate(parts: GateParts): Gate {
  const refused: RefusedAsk[] = []
  return {
    call: (request) => passGate(request, parts, refused),
    refusedAsks: () => refused,
  }
}

async function passGate(request: GateCall, parts: GateParts, refused: RefusedAsk[]): Promise<GateOutcome> {
  const passage: Passage = {
    request,
    parts,
    refused,
    id: parts.newId(),
    start: parts.now(),
    step: 'resolve',
    text: '',
  }
  const { envelope, fatal } = await walk(passage)
  const record = recordOf(passage, envelope)
  await parts.record?.(record)
  return { envelope, record, ...(fatal === undefined ? {} : { fatal }) }
}

/** One call on its way: what each step found out for those behind it. */
export type Passage = {
  readonly request: GateCall
  readonly parts: GateParts
  readonly refused: RefusedAsk[]
  readonly id: string
  readonly start: number
  step: Step
  /** The arguments as JSON text. */
  text: string
  tool?: AnyGovernedTool
  authority?: Authority
  expanded?: ExpandedCall
  decision?: Decision
  watchdog?: Verdict
  approval?: string
}

type Ready = Preparation & { ok: true }

async function walk(passage: Passage): Promise<{ envelope: Envelope; fatal?: { error: unknown } }> {
  try {
    const tool = await resolve(passage)
    const written = parse(passage)
    const value = await rewriteInput(passage, written)
    let ready = await validate(passage, tool, value)
    checkCapability(passage)
    applyRules(passage)
    await askWatchdog(passage, ready)
    const changed = await beforeHooks(passage, ready)
    if (changed !== undefined) {
      // What a hook changed is a new call: it is checked and judged like any other, from here.
      ready = await validate(passage, tool, changed.args)
      checkCapability(passage)
      applyRules(passage)
      await askWatchdog(passage, ready)
    }
    await seekApproval(passage, tool, ready)
    await checkBudget(passage, ready)
    const envelope = await execute(passage, tool, ready)
    const bounded = await bound(passage, tool, envelope)
    const shown = await rewriteOutput(passage, tool, bounded)
    return { envelope: await afterHooks(passage, ready, shown) }
  } catch (thrown) {
    if (thrown instanceof Stopped)
      return thrown.fatal === undefined
        ? { envelope: thrown.envelope }
        : { envelope: thrown.envelope, fatal: thrown.fatal }
    // A part of the host broke: its guard, its store, its hook. The call did not pass.
    return {
      envelope: errorEnvelope(
        `The call was refused because the step "${passage.step}" failed: ${messageOf(thrown)}`,
      ),
      fatal: { error: thrown },
    }
  }
}

async function resolve(passage: Passage): Promise<AnyGovernedTool> {
  const { request, parts } = passage
  const tool = parts.tools.get(request.name)
  if (tool === undefined) throw new Stopped(describeUnknownTool(request.name, parts.tools.names()))
  passage.tool = await governTool(tool)
  return passage.tool
}

/** Text is what a model wrote; a value comes from code. */
function parse(passage: Passage): unknown {
  passage.step = 'parse'
  const { input, name } = passage.request
  if ('value' in input) {
    passage.text = serializeToolOutput(input.value ?? {})
    return input.value ?? {}
  }
  passage.text = input.text
  return parseText(name, input.text)
}

function parseText(name: string, text: string): unknown {
  try {
    return parseToolArgs(text)
  } catch (error) {
    throw new Stopped(`The arguments of tool "${name}" are not JSON. ${messageOf(error)}`)
  }
}

async function rewriteInput(passage: Passage, value: unknown): Promise<unknown> {
  passage.step = 'input'
  const { request, parts } = passage
  if (!parts.middleware?.some((one) => one.onToolInput)) return value
  const args = {
    toolName: request.name,
    args: passage.text,
    turn: request.turn ?? 0,
    internalCallId: passage.id,
    ...(request.toolCallId === undefined ? {} : { toolCallId: request.toolCallId }),
  }
  const text = await applyToolInput(parts.middleware, args)
  if (text === passage.text) return value
  passage.text = text
  return parseText(request.name, text)
}

/** Once: the value that comes out is the one that is judged, approved and run. */
async function validate(passage: Passage, tool: AnyGovernedTool, value: unknown): Promise<Ready> {
  passage.step = 'validate'
  const prepared = await tool.prepare(value)
  if (!prepared.ok) throw new Stopped(prepared.envelope.error_text)
  const { parts, request } = passage
  passage.authority = parts.authorityFor(tool)
  passage.expanded = expandCall(
    {
      tool: tool.name,
      args: prepared.args,
      subjects: prepared.subjects,
      ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
      ...(parts.run === undefined
        ? {}
        : {
            agent: parts.run.agentId,
            ...(parts.run.sessionId === undefined ? {} : { session: parts.run.sessionId }),
          }),
    },
    passage.authority.book.scope,
  )
  return prepared
}

/** Before anything is asked: no approval can give what is not granted. */
function checkCapability(passage: Passage): void {
  passage.step = 'capability'
  const { expanded, authority } = passage
  if (expanded?.invalid !== undefined) throw new Stopped(`The call can never run: ${expanded.invalid}.`)
  const refusal = expanded && authority?.grant && checkSubjects(authority.grant, expanded.subjects)
  if (refusal !== undefined) throw new Stopped(refusal.message)
}

/** The host's own calls are privileged: they are not judged by rules, and still held to everything else. */
function applyRules(passage: Passage): void {
  passage.step = 'rules'
  const { expanded, authority, request } = passage
  if (request.origin === 'host' || expanded === undefined || authority === undefined) return
  passage.decision = decide(expanded, authority)
  const { verdict } = passage.decision
  if (verdict.action === 'deny') throw new Stopped(`Refused: ${verdict.reason}.`)
}

/** May only narrow. For the host's own calls a watchdog may refuse, and has nobody to ask. */
async function askWatchdog(passage: Passage, ready: Ready): Promise<void> {
  passage.step = 'watchdog'
  const { parts, expanded, request } = passage
  if (parts.watchdog === undefined || expanded === undefined) return
  const verdict = await runWatchdog(
    parts.watchdog,
    {
      tool: request.name,
      args: ready.args,
      expanded,
      ...(parts.manifest === undefined ? {} : { manifest: parts.manifest }),
      ...(parts.run?.sessionId === undefined ? {} : { session: parts.run.sessionId }),
    },
    parts.watchdogTimeoutMs === undefined ? {} : { timeoutMs: parts.watchdogTimeoutMs },
  )
  passage.watchdog = verdict
  if (verdict.action === 'deny') throw new Stopped(`Refused by the watchdog: ${verdict.reason}.`)
}

async function beforeHooks(passage: Passage, ready: Ready): Promise<{ args: unknown } | undefined> {
  passage.step = 'hooks'
  const { parts, request } = passage
  if (parts.before === undefined) return undefined
  const verdict = await parts.before({
    toolName: request.name,
    args: ready.args,
    origin: request.origin,
    callId: passage.id,
  })
  if (verdict.action === 'block') throw new Stopped(`Blocked by a hook: ${verdict.reason}`)
  if (verdict.action === 'skip') throw new Stopped(verdict.output, { skipped: true })
  return verdict.action === 'change' ? { args: verdict.args } : undefined
}

async function checkBudget(passage: Passage, ready: Ready): Promise<void> {
  passage.step = 'budget'
  const refusal = await passage.parts.budget?.({ toolName: passage.request.name, args: ready.args })
  if (refusal !== undefined) throw new Stopped(`Refused by the budget: ${refusal}`)
}

async function execute(passage: Passage, tool: AnyGovernedTool, ready: Ready): Promise<Envelope> {
  passage.step = 'execute'
  const { parts, request } = passage
  const timeoutMs = request.timeoutMs ?? parts.toolTimeoutMs ?? Number.POSITIVE_INFINITY
  const work = async (signal: AbortSignal): Promise<Envelope> => ready.run(await contextFor(passage, signal))
  const run = (): Promise<Envelope> => underDeadline(passage, work, timeoutMs)
  return parts.lane === undefined
    ? run()
    : parts.lane({ toolName: tool.name, args: ready.args, kind: tool.kind }, run)
}

async function underDeadline(
  passage: Passage,
  work: (signal: AbortSignal) => Promise<Envelope>,
  timeoutMs: number,
): Promise<Envelope> {
  const { request, parts } = passage
  const ended = await withDeadline(work, {
    signal: request.signal,
    timeoutMs,
    graceMs: parts.stopGraceMs ?? stopGraceMs,
  })
  if (ended.how === 'done') return ended.result
  const why =
    ended.how === 'timeout'
      ? `did not finish within ${timeoutMs} ms`
      : 'was stopped because the run was aborted'
  return errorEnvelope(`Tool "${request.name}" ${why}; what it had already done may remain.`, {
    duration_ms: elapsed(passage),
  })
}

async function contextFor(passage: Passage, signal: AbortSignal): Promise<ToolCallContext> {
  const { parts, request } = passage
  const { authority, expanded } = passage
  const runtime =
    authority &&
    expanded &&
    (await parts.runtimeFor?.({ call: expanded.call, authority, signal, origin: request.origin }))
  return {
    signal,
    now: parts.now,
    ...(runtime === undefined ? {} : { runtime }),
    ...(parts.run === undefined ? {} : { run: parts.run }),
    ...(request.toolCallId === undefined ? {} : { toolCallId: request.toolCallId }),
    ...(request.progress === undefined ? {} : { progress: request.progress }),
    ...(request.emitStreamEvent === undefined ? {} : { emitStreamEvent: request.emitStreamEvent }),
  }
}

async function bound(passage: Passage, tool: AnyGovernedTool, envelope: Envelope): Promise<Envelope> {
  passage.step = 'bound'
  return boundOutput(tool.name, envelope, tool.limits ?? {}, passage.parts.spill)
}

async function afterHooks(passage: Passage, ready: Ready, envelope: Envelope): Promise<Envelope> {
  passage.step = 'done'
  await passage.parts.after?.({
    toolName: passage.request.name,
    args: ready.args,
    origin: passage.request.origin,
    callId: passage.id,
    envelope,
  })
  return envelope
}

function elapsed({ parts, start }: Passage): number {
  return Math.max(0, Math.round(parts.now() - start))
}

function recordOf(passage: Passage, envelope: Envelope): CallRecord {
  const { request, decision, watchdog, approval, step } = passage
  return {
    callId: passage.id,
    toolName: request.name,
    origin: request.origin,
    args: passage.text,
    endedAt: step,
    durationMs: elapsed(passage),
    envelope,
    ...(request.toolCallId === undefined ? {} : { toolCallId: request.toolCallId }),
    ...(decision === undefined ? {} : { verdict: decision.verdict, rules: decidingRules(decision) }),
    ...(watchdog === undefined ? {} : { watchdog }),
    ...(approval === undefined ? {} : { approval }),
  }
}

/** The rules that decided about each thing the call touches. */
function decidingRules({ rules, limits, inherited }: Decision): Rule[] {
  return [rules, ...limits, ...inherited].flatMap(({ subjects }) =>
    subjects.flatMap(({ rule }) => (rule === undefined ? [] : [rule])),
  )
}
