import type { JsonValue } from '../../tool/json.js'
import type { ModelStep, SpokenStep } from '../model-step.js'

/** One answer of the model server: what the model says, and how the server misbehaves while it says it. */
export type ServedStep = ModelStep & {
  /** Anything but 2xx is answered with an error in the words of the protocol, or with `body`. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The words of the error. */
  readonly message?: string
  /** Sent in place of everything else; a value as JSON. */
  readonly body?: JsonValue
  /** Sent in place of the events, each piece by itself: a test may cut lines and characters wherever it likes. */
  readonly chunks?: readonly (string | Uint8Array)[]
  /** A pause before each event or chunk. */
  readonly chunkDelayMs?: number
  /** How many comment lines go before each event. */
  readonly heartbeats?: number
  /** After that many events (`true`: before the first) nothing but heartbeats is sent, and the connection stays open. */
  readonly stall?: number | true
  /** A heartbeat comment every so often while it stalls. */
  readonly stallHeartbeatMs?: number
  /** The connection is cut after that many bytes of the body. */
  readonly dropAfterBytes?: number
  /** `false`: the stream ends without `[DONE]`, `message_stop` or `response.completed`. */
  readonly done?: false
  /** Where a chat completion tells the usage: in a chunk of its own after the last (the rule), in the last, in all, or nowhere. */
  readonly usagePlacement?: 'own' | 'last' | 'every' | 'none'
  /** `data:{…}` without the space. */
  readonly tightData?: boolean
  readonly lineEnd?: '\n' | '\r\n' | '\r'
  /** An error as the last event of the stream, after what the model has said. */
  readonly streamError?: { readonly type: string; readonly message: string }
}

/** A request as it reached the server. */
export type ServedRequest = {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Parsed JSON, or the text when it is none. */
  readonly body: JsonValue
  /** How it ended: answered, cut off by the script, or left by the client. */
  readonly ended: Promise<'answered' | 'dropped' | 'left'>
}

export type WireEvent = { readonly event?: string; readonly data: string }

/** One protocol: how it says an answer at once, in pieces, and that something failed. */
export type Dialect = {
  /** Whether the request is meant for it, and wants its answer in pieces. */
  match(path: string, body: JsonValue): { readonly stream: boolean; readonly model: string } | undefined
  events(answer: WireAnswer): WireEvent[]
  body(answer: WireAnswer): JsonValue
  error(status: number, message: string): JsonValue
}

/** What a dialect puts into its own words. */
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
