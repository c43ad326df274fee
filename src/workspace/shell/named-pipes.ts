import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ShellStartError } from './errors.js'

/**
 * Creates named pipes for the output of commands. Node passes socket pairs to a child instead, with which
 * `echo x > /dev/stderr` fails inside. Node cannot create a pipe, so `mkfifo` creates sixteen at a time.
 */
export class NamedPipes {
  readonly #directory: string
  readonly #names: string[] = []
  #filling: Promise<void> | undefined
  #made = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Returns the path of a pipe that nothing else uses. */
  async take(): Promise<string> {
    let name = this.#names.pop()
    while (name === undefined) {
      this.#filling ??= this.#fill().finally(() => {
        this.#filling = undefined
      })
      await this.#filling
      name = this.#names.pop()
    }
    return name
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
