import type { JsonValue } from '../../tool/json.js'
import type { ModelStep, SpokenStep } from '../model-step.js'

/** One answer of the model server: what the model writes, and the faults of the server. */
export type ServedStep = ModelStep & {
  /** A status other than 2xx is answered with an error in the format of the protocol, or with `body`. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The error message. */
  readonly message?: string
  /** Sent instead of everything else; a value as JSON. */
  readonly body?: JsonValue
  /** Sent instead of the events, each piece separately: a test can cut lines and characters anywhere. */
  readonly chunks?: readonly (string | Uint8Array)[]
  /** A delay before each event or chunk. */
  readonly chunkDelayMs?: number
  /** The number of comment lines before each event. */
  readonly heartbeats?: number
  /** After this many events (`true`: before the first) only heartbeats are sent, and the connection stays open. */
  readonly stall?: number | true
  /** The interval of heartbeat comments during a stall. */
  readonly stallHeartbeatMs?: number
  /** The connection is cut after this many bytes of the body. */
  readonly dropAfterBytes?: number
  /** `false`: the stream ends without `[DONE]`, `message_stop` or `response.completed`. */
  readonly done?: false
  /** Where a chat completion reports the usage: in a chunk after the last (default), in the last, in all, nowhere. */
  readonly usagePlacement?: 'own' | 'last' | 'every' | 'none'
  /** `data:{…}` without the space. */
  readonly tightData?: boolean
  readonly lineEnd?: '\n' | '\r\n' | '\r'
  /** An error as the last event of the stream, after the model's output. */
  readonly streamError?: { readonly type: string; readonly message: string }
}

/** A request as it reached the server. */
export type ServedRequest = {
  readonly method: string
  /** The path, including the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Parsed JSON, or the text when it is not JSON. */
  readonly body: JsonValue
  /** How it ended: answered, cut off by the script, or disconnected by the client. */
  readonly ended: Promise<'answered' | 'dropped' | 'left'>
}

export type WireEvent = { readonly event?: string; readonly data: string }

/** One protocol: how it encodes a whole answer, a streamed answer, and an error. */
export type Dialect = {
  /** Returns whether the request is for this protocol, and whether it requests a stream. */
  match(path: string, body: JsonValue): { readonly stream: boolean; readonly model: string } | undefined
  events(answer: WireAnswer): WireEvent[]
  body(answer: WireAnswer): JsonValue
  error(status: number, message: string): JsonValue
}

/** The answer that a dialect encodes. */
export type WireAnswer = SpokenStep & {
  readonly step: ServedStep
  readonly model: string
  /** The number of the request, from 0. */
  readonly n: number
  readonly tokens: {
    readonly input: number
    readonly output: number
    readonly cacheRead: number
    readonly cacheWrite: number
    readonly reasoning: number
  }
}
