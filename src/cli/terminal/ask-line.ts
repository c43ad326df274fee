import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Io } from '../io.js'

/** Asks for one line. Lines typed before the question are dropped. Returns an empty text at the end of the input. */
export async function askLine(question: string, io: Io): Promise<{ readonly text: string } | 'interrupted'> {
  await dropTyped(io.stdin)
  const lines = createInterface({ input: io.stdin, output: io.stdout })
  return new Promise<{ readonly text: string } | 'interrupted'>((resolve) => {
    // Enter was not pressed, so the next output needs a new line.
    const stop = (): void => {
      io.stdout.write('\n')
      resolve('interrupted')
    }
    if (io.signal.aborted) return resolve('interrupted')
    // The terminal was closed.
    lines.on('error', stop)
    io.stdin.on('error', stop)
    io.signal.addEventListener('abort', stop, { once: true })
    lines.once('SIGINT', stop)
    lines.once('close', () => {
      io.stdout.write('\n')
      resolve({ text: '' })
    })
    lines.question(question, (text) => resolve({ text }))
  }).finally(() => {
    lines.removeAllListeners('close')
    try {
      lines.close()
    } catch {
      // The mode of a closed terminal cannot be restored.
    }
  })
}

/** Drops the text in the terminal's buffer: it was typed before the question. */
async function dropTyped(stdin: Readable): Promise<void> {
  const drop = (): void => undefined
  stdin.on('data', drop)
  await new Promise((resolve) => setTimeout(resolve, typedMs))
  stdin.off('data', drop)
  stdin.pause()
}

const typedMs = 50
