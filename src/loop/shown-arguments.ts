import { copyArguments } from '../tool/copy-arguments.js'
import { messageOf } from '../tool/errors.js'
import { serializeToolOutput } from '../tool/serialize.js'
import type { CallState, Ready } from './gate.js'
import { Stopped } from './stopped.js'

/**
 * The arguments for a guard: a copy, created when it is first read. A guard that keeps it cannot change what other
 * guards judge, what a user is shown, or what runs.
 */
export class ShownArguments {
  readonly #state: CallState
  readonly #ready: Ready
  #copy: { readonly args: unknown } | undefined

  constructor(state: CallState, ready: Ready) {
    this.#state = state
    this.#ready = ready
  }

  get args(): unknown {
    this.#copy ??= { args: copyOrStop(this.#state, this.#ready.args) }
    return this.#copy.args
  }

  wasChanged(): boolean {
    return this.#copy !== undefined && serializeToolOutput(this.#copy.args) !== this.#state.checked
  }
}

/**
 * Returns a copy of arguments. Those that cannot be copied end the call and not the run: a schema can make values that
 * are nested too deep of a text that a model wrote.
 */
export function copyOrStop({ request }: CallState, value: unknown): unknown {
  try {
    return copyArguments(value)
  } catch (error) {
    throw new Stopped(`The arguments of tool "${request.name}" cannot be read: ${messageOf(error)}`)
  }
}
