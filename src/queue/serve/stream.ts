import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { messageOf } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { parseJsonText } from '../../tool/json-text.js'
import type { StreamLike } from '../../tool/stream-like.js'
import type { TaskBoard } from '../engine.js'
import { answerWorker } from './worker-protocol.js'

/** The streams of a worker: what it writes and what it reads, such as a child process's `stdout` and `stdin`. */
export type WorkerStreams = { readonly input: StreamLike; readonly output: StreamLike }

const maxLineLength = 8 * 1024 * 1024

/**
 * Serves one worker over a pair of streams, a JSON object a line: `{ id, method, params }` and back `{ id, result }` or
 * `{ id, error }`. When they end, the worker is gone, and what it had goes to another at once. Gives what ends it from
 * here.
 */
export function serveStream(board: TaskBoard, streams: WorkerStreams, worker: string): () => void {
  // The streams of Node that the type describes.
  const [input, output] = [streams.input as Readable, streams.output as Writable]
  const gone = new AbortController()
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  const end = (): void => {
    if (gone.signal.aborted) return
    gone.abort()
    input.off('data', count)
    lines.close()
    void board.abandon(worker)
  }
  // A line is kept until it ends, so one without an end would fill the memory.
  let unfinished = 0
  const count = (chunk: Buffer | string): void => {
    const at = chunk.lastIndexOf('\n')
    unfinished = at < 0 ? unfinished + chunk.length : chunk.length - at - 1
    if (unfinished > maxLineLength) end()
  }
  input.on('data', count)
  lines.on('close', end)
  lines.on('line', (line) => void answer(line))
  input.on('error', end)
  output.on('error', end)
  return end

  async function answer(line: string): Promise<void> {
    if (gone.signal.aborted || line.trim() === '') return
    let id: unknown
    try {
      if (line.length > maxLineLength)
        throw new RangeError(`the line has more than ${maxLineLength} characters`)
      const request = parseJsonText(line)
      if (!isRecord(request)) throw new TypeError('a request must be an object')
      id = request['id']
      const { method, params } = request
      const result = await answerWorker(board, String(method), params, { worker, signal: gone.signal })
      say({ id, result })
    } catch (error) {
      say({ id, error: messageOf(error) })
    }
  }

  function say(message: object): void {
    if (!gone.signal.aborted) output.write(`${JSON.stringify(message)}\n`)
  }
}
