import { parseArgs } from 'node:util'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import type { OptionSpec } from './command.js'
import { UsageError } from './errors.js'

/** What a command was called with, checked against its options. */
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

  /** The last one given. */
  value(option: string): string | undefined {
    return this.#values.get(option)?.at(-1)
  }

  values(option: string): readonly string[] {
    return this.#values.get(option) ?? []
  }

  /** A whole number, positive unless `least` is 0. */
  count(option: string, least: 0 | 1 = 1): number | undefined {
    const text = this.value(option)
    if (text === undefined) return undefined
    if (!/^(?:0|[1-9]\d{0,14})$/.test(text) || Number(text) < least)
      throw new UsageError(
        `--${option} takes a ${least === 1 ? 'positive ' : ''}whole number, not ${JSON.stringify(text)}.`,
      )
    return Number(text)
  }

  /** With other values for some options: for a command that calls another. */
  with(values: Readonly<Record<string, string>>): Args {
    const given = Object.entries(values).map(([name, value]): [string, string[]] => [name, [value]])
    return new Args(this.positionals, new Map([...this.#values, ...given]))
  }

  /** Without the first so many positionals: for commands that have words of their own. */
  after(count: number): Args {
    return new Args(this.positionals.slice(count), this.#values)
  }
}

/** Reads what follows the name of a command. Throws {@link UsageError} for what the command does not know. */
export function readArgs(argv: readonly string[], specs: readonly OptionSpec[]): Args {
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(specs.map((spec) => [spec.name, formOf(spec)])),
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
      throw new UsageError(`--${spec.name} was given twice.`)
    values.set(spec.name, [...given, givenValue(spec, token.value)])
  }
  return new Args(positionals, values)
}

function formOf({ value, short }: OptionSpec): { type: 'string' | 'boolean'; short?: string } {
  return { type: value === undefined ? 'boolean' : 'string', ...(short !== undefined && { short }) }
}

function givenValue({ name, value, choices }: OptionSpec, given: string | undefined): string {
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
  const hint = near.length > 0 ? `Did you mean ${quoteNames(near)}?` : 'See --help for those there are.'
  return new UsageError(`There is no option ${JSON.stringify(written)}.`, hint)
}
