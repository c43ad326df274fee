import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { onAbort } from '../../loop/on-abort.js'
import { messageOf } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { parseJsonText } from '../../tool/json-text.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { QueueError } from '../errors.js'
import type { WorkerStreams } from '../serve/stream.js'
import type { WorkerMethod } from '../serve/worker-protocol.js'

/** The queue as a worker uses it. */
export interface Queue {
  /** Sends a request. Rejects with a `QueueError` when a retry would not help. */
  ask(method: WorkerMethod, params: object, signal?: AbortSignal): Promise<unknown>
  /** Settles when the queue has disconnected permanently. */
  readonly closed: Promise<void>
  close(): void
}

export function askOverHttp({ url, token }: { readonly url: string; readonly token: string }): Queue {
  const closed = new Promise<void>(() => undefined)
  return {
    closed,
    close: () => undefined,
    async ask(method, params, signal) {
      const response = await fetch(`${url}/v1/${method}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(params),
        ...omitUndefined({ signal }),
      })
      const answer: unknown = parseJsonText(await response.text())
      if (response.ok) return answer
      const why = isRecord(answer) ? String(answer['error']) : response.statusText
      const message = `The queue refused '${method}': ${why}`
      if (response.status >= 500) throw new Error(message)
      throw new QueueError('queue_refused', message)
    },
  }
}

export function askOverStreams(streams: WorkerStreams): Queue {
  // The type describes Node streams.
  const [input, output] = [streams.input as Readable, streams.output as Writable]
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let count = 0
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  lines.on('line', (line) => {
    const answer = read(line)
    const one = typeof answer['id'] === 'number' ? waiting.get(answer['id']) : undefined
    if (one === undefined) return
    if (typeof answer['error'] === 'string') one.reject(new QueueError('queue_refused', answer['error']))
    else one.resolve(answer['result'])
  })
  const closed = new Promise<void>((resolve) => {
    lines.on('close', () => {
      for (const { reject } of waiting.values()) reject(new Error('The queue has disconnected.'))
      resolve()
    })
  })
  // The end of the lines reports this as well.
  output.on('error', () => lines.close())
  return {
    closed,
    close: () => lines.close(),
    ask(method, params, signal) {
      const id = ++count
      let undo: () => void = () => undefined
      return new Promise<unknown>((resolve, reject) => {
        if (signal !== undefined) undo = onAbort(signal, () => reject(new Error('The worker stops.')))
        waiting.set(id, { resolve, reject })
        output.write(`${JSON.stringify({ id, method, params })}\n`)
      }).finally(() => {
        undo()
        waiting.delete(id)
      })
    },
  }
}

function read(line: string): Record<string, unknown> {
  try {
    const value = parseJsonText(line)
    return isRecord(value) ? value : {}
  } catch (error) {
    return { error: messageOf(error) }
  }
}
