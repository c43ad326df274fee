import type { Readable, Writable } from 'node:stream'

/** The outside of the command, handed in so that tests can be it. */
export type Io = {
  readonly stdin: Readable
  /** The descriptor of `stdin`, where it has one: looking at that opens nothing. */
  readonly stdinFd?: number
  readonly stdout: Writable
  readonly stderr: Writable
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Which of the three is a terminal. */
  readonly isTTY: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean }
  /** How wide the terminal is at this moment; 80 where there is none. */
  columns(): number
  /** Aborted when the process is told to end; its reason is the name of the signal. */
  readonly signal: AbortSignal
}

/** Resolves when the text was taken over: what is written last is not lost when the process ends, and a slow reader is waited for. */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve) => {
    // A reader that has gone is no failure of ours: `capstan sessions | head`.
    if (stream.destroyed || text === '') resolve()
    else stream.write(text, () => resolve())
  })
}
