import type { Readable, Writable } from 'node:stream'

/** The streams, environment and terminal of the command, passed in so that tests can replace them. */
export type Io = {
  readonly stdin: Readable
  /** The file descriptor of `stdin`, if it has one. Reading its type does not open the stream. */
  readonly stdinFd?: number
  readonly stdout: Writable
  readonly stderr: Writable
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Whether each stream is a terminal. */
  readonly isTTY: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean }
  /** The current width of the terminal; 80 without a terminal. */
  columns(): number
  /** Aborted when the process gets a signal to end; its reason is the name of the signal. */
  readonly signal: AbortSignal
}

/** The height of a terminal; 24 when it is not known. */
export function rowsOf(stdout: Writable): number {
  const rows: unknown = 'rows' in stdout ? stdout.rows : undefined
  return typeof rows === 'number' && rows > 0 ? rows : 24
}

/**
 * Writes a text. Resolves when the stream has accepted it, so that the last text is not lost at the end of the process
 * and output waits for slow readers.
 */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve) => {
    // It is not an error if the reader has closed the pipe (`capstan sessions | head`).
    if (stream.destroyed || text === '') resolve()
    else stream.write(text, () => resolve())
  })
}
