import { fstatSync } from 'node:fs'
import { UsageError } from '../errors.js'
import type { Io } from '../io.js'

/** What is taken from standard input: all there is (`wanted`), what comes soon (`offered`), or nothing. */
export type InputWish = 'wanted' | 'offered' | 'none'
export type PipedInput = {
  readonly text: string
  /** Nothing came in time, and it was not waited for any longer. */
  readonly gaveUp?: true
}

const maxBytes = 8 * 1024 * 1024

/**
 * Reads standard input without ever waiting for nobody: a pipe that somebody left open and never writes to is given up after
 * `patienceMs`, unless it was asked for. A terminal is not read at all.
 */
export async function readInput(
  io: Pick<Io, 'stdin' | 'stdinFd' | 'isTTY' | 'signal'>,
  wish: InputWish,
  patienceMs = 3_000,
): Promise<PipedInput> {
  if (wish === 'none' || io.isTTY.stdin || (wish === 'offered' && !mayHoldText(io.stdinFd)))
    return { text: '' }
  const chunks: Buffer[] = []
  let bytes = 0
  const outcome = await new Promise<'end' | 'late' | Error>((resolve) => {
    const timer = wish === 'offered' ? setTimeout(() => finish('late'), patienceMs) : undefined
    const take = (chunk: Buffer | string): void => {
      clearTimeout(timer)
      const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      bytes += piece.length
      if (bytes > maxBytes)
        finish(
          new UsageError(
            `More than ${maxBytes / 1024 / 1024} MiB came on standard input.`,
            'Put it into a file.',
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
  // Left open, it would keep the process alive.
  if (outcome !== 'end') io.stdin.destroy()
  if (outcome instanceof Error) throw outcome
  if (outcome === 'late') return { text: '', gaveUp: true }
  return { text: decode(Buffer.concat(chunks)) }
}

/** A device such as /dev/null, or no standard input at all, has nothing to say. */
function mayHoldText(fd: number | undefined): boolean {
  if (fd === undefined) return true
  try {
    const stat = fstatSync(fd)
    return stat.isFIFO() || stat.isFile() || stat.isSocket()
  } catch {
    // It was closed before we began.
    return false
  }
}

function decode(bytes: Buffer): string {
  if (bytes.includes(0))
    throw new UsageError('What came on standard input is not text.', 'Name the file in the prompt instead.')
  return new TextDecoder().decode(bytes)
}
