import { closeSync, constants, openSync, unlinkSync } from 'node:fs'
import { Socket } from 'node:net'

/** One pipe for both streams of a command, so that their order is the order in which they were written. */
export type OutputPipe = {
  /** The name to look for in `/proc/PID/fd`. */
  readonly name: string
  readonly reader: Socket
  /** For the child's stdout and stderr; closed here after the child has it. */
  readonly writeFd: number
}

/** Opens both ends of a named pipe and removes its name. */
export function openPipe(name: string): OutputPipe {
  // The reader is opened first, without blocking: then opening the writer does not block either.
  const readFd = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const writeFd = openSync(name, constants.O_WRONLY)
    return { name, reader: new Socket({ fd: readFd, readable: true, writable: false }), writeFd }
  } catch (error) {
    closeSync(readFd)
    throw error
  } finally {
    unlinkSync(name)
  }
}
