import { parseArgs } from 'node:util'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import type { OptionSpec } from './command.js'
import { UsageError } from './errors.js'
import { readDuration } from './setup/duration.js'

/** The arguments of a command, checked against its options. */
export class Args {
  readonly positionals: readonly string[]
  readonly #values: ReadonlyMap<string, readonly string[]>

  constructor(positionals: readonly string[], values: ReadonlyMap<string, readonly string[]>) {
    this.positionals = positionals
    this.#values = values
  }

  has(option: string): boolean {
    return this.#values.has(option)
  }

  /** The option's last value. */
  value(option: string): string | undefined {
    return this.#values.get(option)?.at(-1)
  }

  values(option: string): readonly string[] {
    return this.#values.get(option) ?? []
  }

  /** The option's value as a whole number of at least `min`. */
  count(option: string, min: 0 | 1 = 1): number | undefined {
    const text = this.value(option)
    if (text === undefined) return undefined
    if (!/^(?:0|[1-9]\d{0,14})$/.test(text) || Number(text) < min)
      throw new UsageError(
        `--${option} takes a ${min === 1 ? 'positive ' : ''}whole number, not ${JSON.stringify(text)}.`,
      )
    return Number(text)
  }

  /** The option's value as a duration, in milliseconds. */
  duration(option: string): number | undefined {
    const text = this.value(option)
    return text === undefined ? undefined : readDuration(option, text)
  }

  /** The positional argument at `index`. Throws {@link UsageError} with the argument's name when it is missing. */
  required(index: number, name: string, hint: string): string {
    const value = this.positionals[index]
    if (value === undefined) throw new UsageError(`Missing argument: ${name}`, hint)
    return value
  }

  /** Returns a copy with other values for some options, for a command that calls another. */
  with(values: Readonly<Record<string, string>>): Args {
    const given = Object.entries(values).map(([name, value]): [string, string[]] => [name, [value]])
    return new Args(this.positionals, new Map([...this.#values, ...given]))
  }

  /** Returns a copy without the first `count` positional arguments, for a command that has already read them. */
  after(count: number): Args {
    return new Args(this.positionals.slice(count), this.#values)
  }
}

/**
 * Parses the arguments after the name of a command. Throws {@link UsageError} for unknown options and missing values.
 */
export function readArgs(argv: readonly string[], specs: readonly OptionSpec[]): Args {
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(specs.map((spec) => [spec.name, parseOption(spec)])),
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const positionals: string[] = []
  const values = new Map<string, string[]>()
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const spec = specs.find(({ name }) => name === token.name)
    if (spec === undefined) throw unknownOption(token.rawName, specs)
    const given = values.get(spec.name) ?? []
    if (given.length > 0 && spec.repeatable !== true && spec.value !== undefined)
      throw new UsageError(`--${spec.name} can be given only once.`)
    values.set(spec.name, [...given, checkedValue(spec, token.value)])
  }
  return new Args(positionals, values)
}

function parseOption({ value, short }: OptionSpec): { type: 'string' | 'boolean'; short?: string } {
  const type = value === undefined ? 'boolean' : 'string'
  return short === undefined ? { type } : { type, short }
}

function checkedValue({ name, value, choices }: OptionSpec, given: string | undefined): string {
  if (value === undefined) {
    if (given !== undefined) throw new UsageError(`--${name} takes no value.`)
    return ''
  }
  if (given === undefined) throw new UsageError(`--${name} needs a value: --${name} <${value}>.`)
  if (choices !== undefined && !choices.includes(given))
    throw new UsageError(`--${name} takes ${quoteNames(choices)}, not ${JSON.stringify(given)}.`)
  return given
}

function unknownOption(written: string, specs: readonly OptionSpec[]): UsageError {
  const near = nearestNames(
    written,
    specs.map(({ name }) => `--${name}`),
  )
  const hint = near.length > 0 ? `Did you mean ${quoteNames(near)}?` : '--help lists the options.'
  return new UsageError(`Unknown option ${JSON.stringify(written)}.`, hint)
}
