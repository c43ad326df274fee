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
 * Serves one worker over a pair of streams, one JSON object per line: `{ id, method, params }`, answered by `{ id,
 * result }` or `{ id, error }`. When the streams end, the worker counts as disconnected, and its tasks go to other
 * workers at once. Returns a function that stops serving.
 */
export function serveStream(board: TaskBoard, streams: WorkerStreams, worker: string): () => void {
  // The type describes Node streams.
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
  // A line is buffered until it ends, so an endless line would fill the memory.
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
