import { fstatSync } from 'node:fs'
import { UsageError } from '../errors.js'
import type { Io } from '../io.js'

/** Whether standard input is read to its end (`required`), read if data arrives in time (`optional`), or not read. */
export type InputMode = 'required' | 'optional' | 'none'
export type PipedInput = {
  readonly text: string
  /** No data arrived in time, so standard input was ignored. */
  readonly timedOut?: true
}

const maxBytes = 8 * 1024 * 1024

/**
 * Reads standard input. An optional pipe that is open but empty is ignored after `timeoutMs`, so a run never waits for
 * a pipe that no process writes to. A terminal is not read.
 */
export async function readInput(
  io: Pick<Io, 'stdin' | 'stdinFd' | 'isTTY' | 'signal'>,
  mode: InputMode,
  timeoutMs = 3_000,
): Promise<PipedInput> {
  if (mode === 'none' || io.isTTY.stdin || (mode === 'optional' && !canHaveText(io.stdinFd)))
    return { text: '' }
  const chunks: Buffer[] = []
  let bytes = 0
  const outcome = await new Promise<'end' | 'late' | Error>((resolve) => {
    const timer = mode === 'optional' ? setTimeout(() => finish('late'), timeoutMs) : undefined
    const take = (chunk: Buffer | string): void => {
      clearTimeout(timer)
      const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      bytes += piece.length
      if (bytes > maxBytes)
        finish(
          new UsageError(
            `Standard input has more than ${maxBytes / 1024 / 1024} MiB.`,
            'Write it to a file, and name the file in the prompt.',
          ),
        )
      else chunks.push(piece)
    }
    const finish = (how: 'end' | 'late' | Error): void => {
      clearTimeout(timer)
      io.stdin.off('data', take).off('end', ended).off('error', failed)
      io.signal.removeEventListener('abort', aborted)
      resolve(how)
    }
    const ended = (): void => finish('end')
    const failed = (error: Error): void => finish(error)
    const aborted = (): void => finish('end')
    io.stdin.on('data', take).once('end', ended).once('error', failed)
    io.signal.addEventListener('abort', aborted, { once: true })
  })
  // An open stream would keep the process alive.
  if (outcome !== 'end') io.stdin.destroy()
  if (outcome instanceof Error) throw outcome
  if (outcome === 'late') return { text: '', timedOut: true }
  return { text: decode(Buffer.concat(chunks)) }
}

/** Whether standard input can contain text: false for a device such as /dev/null, and for a closed standard input. */
function canHaveText(fd: number | undefined): boolean {
  if (fd === undefined) return true
  try {
    const stat = fstatSync(fd)
    return stat.isFIFO() || stat.isFile() || stat.isSocket()
  } catch {
    // Standard input was closed before the command started.
    return false
  }
}

function decode(bytes: Buffer): string {
  if (bytes.includes(0))
    throw new UsageError('Standard input is not text.', 'Name the file in the prompt instead.')
  return new TextDecoder().decode(bytes)
}
