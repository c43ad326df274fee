import { execFile } from 'node:child_process'
import { closeSync, constants, openSync, unlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ShellStartError } from './errors.js'

/** One pipe for both streams of a command, so that their order is the order in which they were written. */
export type OutputPipe = {
  /** The name to look for in `/proc/PID/fd`. */
  readonly name: string
  readonly reader: Socket
  /** For the child's stdout and stderr; closed here after the child has it. */
  readonly writeFd: number
}

/**
 * Creates pipes. Node passes socket pairs to a child instead, with which `echo x > /dev/stderr` fails inside. Node also
 * cannot create a pipe, so named pipes are created by the dozen with `mkfifo`, and their names are removed when they
 * are opened.
 */
export class OutputPipes {
  readonly #directory: string
  readonly #names: string[] = []
  #filling: Promise<void> | undefined
  #made = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  async take(): Promise<OutputPipe> {
    let name = this.#names.pop()
    while (name === undefined) {
      this.#filling ??= this.#fill().finally(() => {
        this.#filling = undefined
      })
      await this.#filling
      name = this.#names.pop()
    }
    return openPipe(name)
  }

  async #fill(): Promise<void> {
    const names = Array.from({ length: 16 }, () => join(this.#directory, `out-${++this.#made}`))
    try {
      await promisify(execFile)('mkfifo', ['-m', '600', '--', ...names], { env: { PATH: '/usr/bin:/bin' } })
    } catch (error) {
      throw new ShellStartError(`No pipe for a command's output could be made in ${this.#directory}.`, error)
    }
    this.#names.push(...names)
  }
}

function openPipe(name: string): OutputPipe {
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
