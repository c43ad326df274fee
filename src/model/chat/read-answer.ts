import { StringDecoder } from 'node:string_decoder'
import { tryOr } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { AnswerBuilder } from '../answer-builder.js'
import { answerTooLarge, defaultAnswerLimits } from '../answer-limits.js'
import type { AttemptWatch } from '../attempt-watch.js'
import type { Reply } from '../connection/post.js'
import { ModelError } from '../errors.js'
import type { ModelAnswer, ModelCall } from '../model.js'
import { connectionError, type ModelPlace, nameOf, refusalError } from '../provider-error.js'
import { ChunkReader } from './chunk-reader.js'
import { createEventText } from './event-text.js'

export type AnswerSource = {
  readonly place: ModelPlace
  readonly reply: Reply
  readonly builder: AnswerBuilder
  readonly watch: AttemptWatch
  readonly call: ModelCall
}

/**
 * Reads the answer from a response: a stream of events, or one JSON object of a server that does not stream. An answer
 * is complete when the server sent a finish reason, or `[DONE]`, or usage after some content. A stream that ends
 * without any of these is incomplete.
 */
export async function readAnswer(source: AnswerSource): Promise<ModelAnswer> {
  const { place, builder, watch } = source
  const reader = new ChunkReader(builder)
  let done = false
  const events = createEventText({
    onData(data, event) {
      if (done) return
      if (data === '[DONE]') {
        done = true
        return
      }
      if (event === 'error') throw refusalError(place, { body: data, emitted: builder.emitted })
      readData(source, reader, data)
    },
    onTooLong(limit) {
      throw answerTooLarge(
        nameOf(place),
        `more than ${limit} characters in one piece`,
        undefined,
        builder.emitted,
      )
    },
  })
  await readBody(source, events.feed, () => {
    const { finish, usage } = reader.facts
    if (done || (finish !== undefined && usage !== undefined)) watch.closing(closeGraceMs)
    else if (finish !== undefined) watch.closing(usageGraceMs)
  })
  const text = events.end()
  if (text !== undefined) readWhole(source, reader, text)

  const { usage, id, model } = reader.facts
  const isWhole = done || usage !== undefined || text !== undefined
  const finish = reader.end() ?? (builder.emitted && isWhole ? 'stop' : undefined)
  if (finish === undefined) throw badResponse(source, broken(builder.emitted))
  return builder.finish({
    finish,
    usage,
    response: {
      ...omitUndefined({ id, model }),
      url: place.url.replace(/[?#].*/, ''),
    },
  })
}

/**
 * How long to wait for the end of the body after `[DONE]`. It usually ends at once, and reading to its end makes the
 * connection reusable.
 */
const closeGraceMs = 250
/** How long to wait for the usage, which can arrive in a separate chunk after the last content. */
const usageGraceMs = 5_000

async function readBody(
  { place, reply, builder, watch, call }: AnswerSource,
  feed: (text: string) => void,
  afterPiece: () => void,
): Promise<void> {
  const decoder = new StringDecoder('utf8')
  const { maxResponseBytes } = { ...defaultAnswerLimits, ...call.limits }
  let bytes = 0
  let pieces = 0
  let open = true
  try {
    while (open) {
      let value: Uint8Array | undefined
      try {
        value = await reply.read()
      } catch (error) {
        open = false
        if (watch.ended === 'complete') return
        throw connectionError(place, error, builder.emitted)
      }
      open = value !== undefined
      bytes += value?.length ?? 0
      if (bytes > maxResponseBytes) {
        const what = `a response of more than ${maxResponseBytes} bytes`
        throw answerTooLarge(nameOf(place), what, 'maxResponseBytes', builder.emitted)
      }
      feed(value === undefined ? decoder.end() : decoder.write(asBuffer(value)))
      if (builder.pieces !== pieces) {
        pieces = builder.pieces
        watch.alive()
      }
      afterPiece()
      const waiting = open ? call.drain?.() : undefined
      if (waiting !== undefined) await watch.pause(waiting)
    }
  } finally {
    if (open) reply.drop()
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function readData(source: AnswerSource, reader: ChunkReader, data: string): void {
  const chunk = parse(data)
  if (isRecord(chunk)) {
    if (isFailure(chunk)) {
      throw refusalError(source.place, { body: data, emitted: source.builder.emitted })
    }
    reader.read(chunk)
    return
  }
  // Servers that end events with one line break instead of two merge several events into one.
  if (data.includes('\n')) for (const line of data.split('\n')) readData(source, reader, line)
  else if (data.startsWith('{')) throw badResponse(source, 'sent an event that is not JSON')
  // Anything else is a heartbeat.
}

function readWhole(source: AnswerSource, reader: ChunkReader, text: string): void {
  const answer = parse(text)
  if (isRecord(answer) && Array.isArray(answer['choices']) && !isFailure(answer)) {
    reader.read(answer)
    return
  }
  if (isRecord(answer) || Array.isArray(answer)) throw refusalError(source.place, { body: text })
  if (text === '') throw badResponse(source, 'sent an empty answer')
  const what = text.startsWith('<') ? 'a web page' : 'something that is neither an event stream nor JSON'
  throw badResponse(source, `sent ${what} instead of an answer: check the base URL`, false)
}

function parse(text: string): unknown {
  // The caller decides how to handle text that is not JSON.
  return tryOr(() => JSON.parse(text), undefined)
}

function isFailure(chunk: Record<string, unknown>): boolean {
  return chunk['error'] !== undefined && chunk['error'] !== null
}

function broken(emitted: boolean): string {
  return emitted
    ? 'stopped in the middle of its answer: the stream ended without a reason'
    : 'ended the stream without saying anything'
}

function badResponse({ place, builder }: AnswerSource, problem: string, retryable = true): ModelError {
  const { emitted } = builder
  return new ModelError('model_bad_response', `${nameOf(place)} ${problem}`, {
    emitted,
    retryable,
  })
}
