import { type Envelope, errorEnvelope } from '../../tool/envelope.js'
import { messageOf, tryOr } from '../../tool/errors.js'
import { isRecord, type JsonObject, type JsonValue } from '../../tool/json.js'
import { parseJsonText } from '../../tool/json-text.js'
import { jsonTextOf } from '../../tool/serialize.js'
import { toToolResult } from '../../tool/tool-result.js'
import { headOf, headOfList } from './bounded-text.js'
import type { CallOptions, ProgramHost } from './host.js'
import { delegates, type ProgramLimits } from './limits.js'
import type { GuestCall } from './messages.js'
import { globPaths, readText } from './raw-data.js'

/** One call of a program, as in the result's metadata. */
export type ProgramToolCall = {
  readonly tool_name: string
  readonly success: boolean
  readonly exit_code: number
  readonly output_bytes: number
  /** Whether the program received only the start of the result. */
  readonly truncated?: true
  readonly metadata: JsonObject
}

export type CallAnswer = { readonly ok: boolean; readonly text: string; readonly call?: ProgramToolCall }

export interface ProgramCalls {
  /** Makes a call that the script requested. Never rejects: a rejected call is answered with the reason. */
  answer(call: GuestCall, options: Omit<CallOptions, 'id'>): Promise<CallAnswer>
  /** Answers a call that had started in another process: its result is unknown. */
  interrupted(call: GuestCall): Promise<CallAnswer>
  /** Adds a call that was made before. */
  restore(call: ProgramToolCall): void
  /** Returns the calls so far, in order. */
  list(): readonly ProgramToolCall[]
}

const maxMetadataBytes = 4 * 1024
const maxAllMetadataBytes = 256 * 1024

/** Creates the calls of one program: limited to its tools and limits, and recorded. */
export function createProgramCalls(
  host: ProgramHost,
  allows: (tool: string) => boolean,
  limits: ProgramLimits,
  /** Called before the program delegates work to a subagent. */
  delegating: () => void = () => undefined,
): ProgramCalls {
  const records: ProgramToolCall[] = []
  let metadataBytes = 0

  const note = (at: number, tool: string, envelope: Envelope, bytes: number, truncated: boolean): void => {
    const text = jsonTextOf(envelope.metadata) ?? '{}'
    const fits = text.length <= maxMetadataBytes && metadataBytes + text.length <= maxAllMetadataBytes
    if (fits) metadataBytes += text.length
    const { duration_ms } = envelope.metadata
    records[at] = {
      tool_name: tool,
      success: envelope.type === 'output',
      exit_code: toToolResult(tool, envelope).exitCode,
      output_bytes: bytes,
      ...(truncated && { truncated }),
      metadata: fits ? (JSON.parse(text) as JsonObject) : { duration_ms, metadata_left_out: true },
    }
  }

  const answer = async (
    { operation, text }: GuestCall,
    perform: (wish: Wish) => Promise<Envelope>,
  ): Promise<CallAnswer> => {
    if (records.length >= limits.maxToolCalls)
      return refusal(`PTC script exceeded maxToolCalls=${limits.maxToolCalls}`)
    const wish = wishOf(operation, text)
    if (typeof wish === 'string') return refusal(wish)
    const at = records.push(unfinished(wish.tool)) - 1
    const forbidden = [wish.tool, ...callsInside(wish)].find((name) => !allows(name))
    if (forbidden !== undefined) {
      const reason = `tool '${forbidden}' is not allowed for this PTC script`
      note(at, wish.tool, errorEnvelope(reason), 0, false)
      return { ...refusal(reason), ...recordAt(at) }
    }
    if ([wish.tool, ...callsInside(wish)].some(delegates)) delegating()
    const envelope = await perform(wish).catch((error: unknown) => errorEnvelope(messageOf(error)))
    const handed = handedOver(wish, envelope, limits.maxOutputBytes)
    note(at, wish.tool, envelope, handed.bytes, handed.truncated)
    return { ...handed.answer, ...recordAt(at) }
  }
  const recordAt = (at: number): Pick<CallAnswer, 'call'> => {
    const call = records[at]
    return call === undefined ? {} : { call }
  }

  return {
    list: () => records,
    restore(call) {
      records.push(call)
      if (delegates(call.tool_name)) delegating()
    },
    answer: (call, options) =>
      answer(call, (wish) => make(host, wish, limits, { ...options, id: String(call.id) })),
    interrupted: (call) => answer(call, async () => errorEnvelope(interrupted)),
  }
}

const interrupted =
  'interrupted, outcome unknown: the process ended while this call ran. Check what it did before you repeat it.'

/** A request of a script. `tool` is its name in the list of tools and in the record. */
type Wish =
  | { readonly kind: 'tool'; readonly tool: string; readonly args: unknown; readonly orThrow: boolean }
  | { readonly kind: 'text'; readonly tool: 'read'; readonly args: Readonly<Record<string, unknown>> }
  | { readonly kind: 'paths'; readonly tool: 'glob'; readonly args: Readonly<Record<string, unknown>> }
  | {
      readonly kind: 'verify'
      readonly tool: 'verify'
      readonly subject: string
      readonly commands: readonly JsonValue[]
    }

function wishOf(operation: string, text: string): Wish | string {
  let body: JsonValue
  try {
    body = parseJsonText(text)
  } catch (error) {
    return `the arguments of the call cannot be used: ${messageOf(error)}`
  }
  if (!isRecord(body)) return 'the arguments of the call are not an object'
  const { name, args = {}, orThrow, subject, commands } = body
  if (operation === 'tool')
    return typeof name === 'string'
      ? { kind: 'tool', tool: name, args, orThrow: orThrow === true }
      : 'ctx.tool(name, args) takes the name of a tool'
  if (operation === 'readFile')
    return typeof body['file_path'] === 'string'
      ? { kind: 'text', tool: 'read', args: body }
      : 'ctx.readFile(path) takes a path'
  if (operation === 'glob')
    return typeof body['pattern'] === 'string'
      ? { kind: 'paths', tool: 'glob', args: body }
      : 'ctx.glob(pattern) takes a pattern'
  if (operation === 'verify')
    return typeof subject === 'string' && Array.isArray(commands)
      ? { kind: 'verify', tool: 'verify', subject, commands: commands as JsonValue[] }
      : 'ctx.verify(subject, commands) takes a subject and a list of commands'
  return `there is no operation ${JSON.stringify(operation)}`
}

/** Returns the calls inside a batch, which must be in the list of tools too. */
function callsInside(wish: Wish): string[] {
  if (wish.kind !== 'tool' || !isRecord(wish.args) || !Array.isArray(wish.args['invocations'])) return []
  return wish.args['invocations'].flatMap((one: unknown) =>
    isRecord(one) && typeof one['tool'] === 'string' ? [one['tool']] : [],
  )
}

async function make(
  host: ProgramHost,
  wish: Wish,
  { maxOutputBytes }: ProgramLimits,
  options: CallOptions,
): Promise<Envelope> {
  if (wish.kind === 'tool') return host.call({ tool: wish.tool, args: wish.args }, options)
  if (wish.kind === 'verify') {
    const { subject, commands } = wish
    return (await host.verify?.({ subject, commands }, options)) ?? errorEnvelope(noVerify)
  }
  const { args } = wish
  if (wish.kind === 'text') {
    const { offset, limit } = args
    const range = {
      file_path: String(args['file_path']),
      ...(isCount(offset) && { offset }),
      ...(isCount(limit) && { limit }),
    }
    return readText(host, range, maxOutputBytes, options)
  }
  const path = args['path']
  const request = { pattern: String(args['pattern']), ...(typeof path === 'string' && { path }) }
  return globPaths(host, request, options)
}

const noVerify =
  'ctx.verify is not available: this host provides no verification to programs. Run the commands with ctx.bash.'

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}

type HandedOver = { readonly bytes: number; readonly truncated: boolean; readonly answer: CallAnswer }

/** Returns what the script gets of an envelope, within the limit and with a mark where it was cut. */
function handedOver(wish: Wish, envelope: Envelope, maxBytes: number): HandedOver {
  const { output, exitCode } = toToolResult(wish.tool, envelope)
  const throws = wish.kind !== 'tool' || wish.orThrow
  if (wish.kind === 'paths' && envelope.type === 'output') return paths(envelope.data, maxBytes)
  const bytes = Buffer.byteLength(output)
  const head = headOf(output, maxBytes)
  const text =
    head === undefined ? output : `${head}\n[cut: the first ${maxBytes} of ${bytes} bytes (maxOutputBytes)]`
  const truncated = head !== undefined
  if (throws && envelope.type === 'error') return { bytes, truncated, answer: refusal(text) }
  if (wish.kind === 'text') return { bytes, truncated, answer: answerOf(text) }
  if (wish.kind === 'verify')
    return { bytes, truncated, answer: truncated ? answerOf(text) : answerOf(jsonOf(output)) }
  const result = { name: wish.tool, output: text, exitCode, metadata: boundedMetadata(envelope, truncated) }
  return { bytes, truncated, answer: answerOf(result) }
}

function paths(data: unknown, maxBytes: number): HandedOver {
  const found = data as { readonly paths: readonly string[]; readonly truncated: boolean }
  const paths = headOfList(found.paths, maxBytes)
  const truncated = found.truncated || paths.length < found.paths.length
  const answer = answerOf({ paths, truncated })
  return { bytes: Buffer.byteLength(answer.text), truncated, answer }
}

function boundedMetadata({ metadata }: Envelope, truncated: boolean): unknown {
  const text = jsonTextOf(metadata) ?? '{}'
  const whole = text.length <= 4 * maxMetadataBytes
  return {
    ...(whole ? metadata : { duration_ms: metadata.duration_ms }),
    ...(truncated && { truncated: true }),
  }
}

function jsonOf(output: string): unknown {
  return tryOr(() => parseJsonText(output), output)
}

function unfinished(tool: string): ProgramToolCall {
  const metadata = { unfinished: true }
  return { tool_name: tool, success: false, exit_code: 1, output_bytes: 0, metadata }
}

function answerOf(value: unknown): CallAnswer {
  return { ok: true, text: JSON.stringify(value) }
}

function refusal(reason: string): CallAnswer {
  return { ok: false, text: reason }
}
