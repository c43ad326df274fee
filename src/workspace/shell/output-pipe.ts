import { execFile } from 'node:child_process'
import { closeSync, constants, openSync, unlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ShellStartError } from './errors.js'

/** One pipe for both streams of a command, so that their order is the order in which they were written. */
export type OutputPipe = {
  /** What to look for in `/proc/PID/fd`. */
  readonly name: string
  readonly reader: Socket
  /** For the child's stdout and stderr; to be closed here once the child has it. */
  readonly writeFd: number
}

/**
 * Makes pipes. Node gives a child socket pairs instead, and then `echo x > /dev/stderr` fails inside; it also has no
 * way to make a pipe, so named ones are made by the dozen with `mkfifo` and lose their name when they are opened.
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
  // The reader first and without waiting: then the writer opens at once too.
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
