import { copyArguments, copyFlat } from '../tool/copy-arguments.js'
import { messageOf } from '../tool/errors.js'
import { serializeToolOutput } from '../tool/serialize.js'
import type { CallState, Ready } from './gate.js'
import { Stopped } from './stopped.js'

/**
 * The arguments for a guard: a copy. A guard that keeps it cannot change what other guards judge, what a user is shown,
 * or what runs.
 */
export class ShownArguments {
  readonly #state: CallState
  readonly #ready: Ready
  /** The copy of arguments without objects inside, as those of most tools are. */
  readonly #flat: object | undefined
  #copy: { readonly args: unknown } | undefined

  constructor(state: CallState, ready: Ready) {
    this.#state = state
    this.#ready = ready
    this.#flat = copyFlat(ready.args)
  }

  /**
   * Adds the copy to what a guard gets of a call, as an own member: guards copy and serialize their call. Arguments
   * with objects inside are copied when they are first read; for others, a getter costs more than the copy.
   */
  addTo<Fields extends object>(fields: Fields): Fields & { readonly args: unknown } {
    if (this.#flat !== undefined) return Object.assign(fields, { args: this.#flat })
    const get = (): unknown => {
      this.#copy ??= { args: copyOrStop(this.#state, this.#ready.args) }
      return this.#copy.args
    }
    return Object.defineProperty(fields as Fields & { readonly args: unknown }, 'args', {
      get,
      enumerable: true,
    })
  }

  wasChanged(): boolean {
    if (this.#flat !== undefined) return !haveSameMembers(this.#flat, this.#ready.args as object)
    return this.#copy !== undefined && serializeToolOutput(this.#copy.args) !== this.#state.checked
  }
}

function haveSameMembers(one: object, other: object): boolean {
  const names = Object.keys(other) as (keyof typeof other)[]
  if (Object.keys(one).length !== names.length) return false
  for (let at = 0; at < names.length; at++) {
    const name = names[at] as keyof typeof other
    if (!Object.hasOwn(one, name) || !Object.is(one[name], other[name])) return false
  }
  return true
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
