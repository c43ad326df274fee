import type { StreamLike } from '../../tool/stream-like.js'

/** The streams of a program, said by what is used of them. */
export interface ProcessStream extends StreamLike {
  readonly destroyed: boolean
  once(event: string, listener: (...values: never[]) => void): unknown
  destroy(): unknown
}

export interface ProcessOutput extends ProcessStream {
  pause(): unknown
  resume(): unknown
}

export interface ProcessInput extends ProcessStream {
  readonly writable: boolean
  readonly writableLength: number
  write(chunk: string | Uint8Array, done?: (error?: Error | null) => void): boolean
  end(): unknown
}

/** A program that is talked to over its streams. */
export type PipedProcess = {
  readonly stdin: ProcessInput
  readonly stdout: ProcessOutput
  readonly stderr: ProcessOutput
  /** What confines it: the name of the sandbox, or `none`. */
  readonly sandbox: string
  /** The program itself is gone; what it started may not be. */
  readonly exit: Promise<{ readonly exitCode: number | null; readonly signal?: string }>
  /** Closes its input; if it does not end by itself, ends it and all it started. Every caller gets the same end. */
  end(): Promise<void>
}
