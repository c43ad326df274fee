import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { ServedStep, WireEvent } from './served-step.js'

/** The target of an answer: writing stops when the client disconnects or the server closes. */
export type Wire = {
  readonly response: ServerResponse
  readonly gone: AbortSignal
  written: number
}

/** Writes events as a stream, with the scripted faults of this step. Resolves with whether the script cut it off. */
export async function sendEvents(
  wire: Wire,
  events: readonly WireEvent[],
  step: ServedStep,
): Promise<boolean> {
  const end = step.lineEnd ?? '\n'
  const beats = `: heartbeat${end}${end}`.repeat(step.heartbeats ?? 0)
  return sendPieces(
    wire,
    events.map((event) => beats + eventText(event, end, step.tightData === true)),
    step,
  )
}

/** Writes each piece separately. */
export async function sendPieces(
  wire: Wire,
  pieces: readonly (string | Uint8Array)[],
  step: ServedStep,
): Promise<boolean> {
  const stallAt = step.stall === true ? 0 : (step.stall ?? Number.POSITIVE_INFINITY)
  for (const [index, piece] of pieces.entries()) {
    if (index >= stallAt) return stall(wire, step)
    if (step.chunkDelayMs !== undefined) await wait(step.chunkDelayMs, undefined, { signal: wire.gone })
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    if (!(await send(wire, bytes, step.dropAfterBytes))) return true
  }
  if (stallAt < Number.POSITIVE_INFINITY) return stall(wire, step)
  await new Promise<void>((resolve) => wire.response.end(() => resolve()))
  return false
}

function eventText({ event, data }: WireEvent, end: string, tight: boolean): string {
  const colon = tight ? ':' : ': '
  const name = event === undefined ? '' : `event${colon}${event}${end}`
  return `${name}data${colon}${data}${end}${end}`
}

/** Returns whether the connection is still open afterwards. */
async function send(wire: Wire, bytes: Uint8Array, most = Number.POSITIVE_INFINITY): Promise<boolean> {
  wire.gone.throwIfAborted()
  const left = most - wire.written
  const part = bytes.length > left ? bytes.subarray(0, left) : bytes
  wire.written += part.length
  // The callback runs when the bytes have been passed to the system, so that pieces stay separate and none is lost by
  // a cut.
  await new Promise<void>((resolve) => wire.response.write(part, () => resolve()))
  if (wire.written < most) return true
  wire.response.destroy()
  return false
}

async function stall(wire: Wire, step: ServedStep): Promise<never> {
  wire.response.flushHeaders()
  const every = step.stallHeartbeatMs
  const beat =
    every === undefined ? undefined : setInterval(() => wire.response.write(': heartbeat\n\n'), every)
  try {
    if (!wire.gone.aborted) await once(wire.gone, 'abort')
    throw wire.gone.reason
  } finally {
    clearInterval(beat)
  }
}
