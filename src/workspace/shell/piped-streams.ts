import type { StreamLike } from '../../tool/stream-like.js'

/** A stream of a program, reduced to the members that are used. */
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

/** A running program with its standard streams. */
export type PipedProcess = {
  readonly stdin: ProcessInput
  readonly stdout: ProcessOutput
  readonly stderr: ProcessOutput
  /** The name of the sandbox that confines it, or `none`. */
  readonly sandbox: string
  /** Resolves when the program itself has ended; processes that it started may still run. */
  readonly exit: Promise<{ readonly exitCode: number | null; readonly signal?: string }>
  /**
   * Closes its input; if the program does not end by itself, ends it and all processes that it started. Every caller
   * gets the same promise.
   */
  end(): Promise<void>
}
