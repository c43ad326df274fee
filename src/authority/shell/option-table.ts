import type { Word } from './analysis.js'

/**
 * The relevant options of one command. `options` lists the harmless ones, `hazards` the others with the reason. Any
 * other option raises a doubt, because it is not known to be harmless.
 *
 * Both are written like options on a command line: `-lah` three flags, `-n=` has a value, `-j?` can have one
 * attached, `--max-count=`, `--color?`. For a value that is a file, a letter states its use: `-o=w`, `--file=r`.
 */
export type OptionTable = {
  readonly options: string
  readonly hazards?: Readonly<Record<string, string>>
  /** Options end at the first operand: the rest belongs to another program. */
  readonly stops?: true
  /** Long options have one dash (`go test -run X`). */
  readonly singleDash?: true
  /** `-5` is a number, not an option. */
  readonly numbers?: true
  /** Only for finding file arguments: unknown options raise no doubt. */
  readonly lenient?: true
}

export type FoundOption = {
  /** The name in the table if it is known, without its value: `-o`, `--output`. */
  readonly name: string
  readonly value?: Word | undefined
  readonly file?: 'read' | 'write' | undefined
  /** Why it is not harmless. */
  readonly problem?: string | undefined
}

export type ParsedOptions = { readonly options: readonly FoundOption[]; readonly operands: readonly Word[] }

/** Parses arguments like the command itself: combined flags, attached values, `--`, abbreviations. */
export function parseOptions(table: OptionTable, args: readonly Word[]): ParsedOptions {
  const specs = compile(table)
  const options: FoundOption[] = []
  const operands: Word[] = []
  for (let at = 0; at < args.length; at++) {
    const word = args[at]
    if (!word) break
    const { value } = word
    if (value === '--') return { options, operands: [...operands, ...args.slice(at + 1)] }
    if (value === undefined || !value.startsWith('-') || value === '-') {
      if (table.stops) return { options, operands: [...operands, ...args.slice(at)] }
      operands.push(word)
      continue
    }
    if (table.numbers && /^-\d+$/.test(value)) continue
    const isLong = value.startsWith('--') || table.singleDash
    const found = isLong ? [longOption(specs, value)] : shortOptions(specs, value)
    const last = found.at(-1)
    const next = args[at + 1]
    if (last?.spec?.value === 'required' && last.value === undefined && next) {
      found.splice(-1, 1, { ...last, value: next })
      at++
    }
    options.push(...found.map((each) => describe(each, table)))
  }
  return { options, operands }
}

type Spec = {
  readonly value: 'none' | 'required' | 'optional'
  readonly file?: 'read' | 'write' | undefined
  readonly problem?: string | undefined
}
type Specs = ReadonlyMap<string, Spec>
type Match = { readonly name: string; readonly spec?: Spec; readonly value?: Word | undefined }

function longOption(specs: Specs, text: string): Match {
  const equals = text.indexOf('=')
  const given = equals < 0 ? text : text.slice(0, equals)
  const value = equals < 0 ? {} : { value: { text: text.slice(equals + 1), value: text.slice(equals + 1) } }
  const exact = specs.get(given) ?? specs.get(`-${given}`)
  if (exact) return { name: given, spec: exact, ...value }
  // GNU programs accept abbreviations. One that may abbreviate a hazardous option is treated as that option; any
  // other stays unknown.
  for (const [name, spec] of specs) {
    if (spec.problem && name.startsWith(given) && given.startsWith('--')) return { name, spec, ...value }
  }
  return { name: given, ...value }
}

function shortOptions(specs: Specs, text: string): Match[] {
  const found: Match[] = []
  for (let at = 1; at < text.length; at++) {
    const name = `-${text[at]}`
    const spec = specs.get(name)
    if (!spec) return [...found, { name }]
    const rest = text.slice(at + 1)
    if (spec.value === 'none') found.push({ name, spec })
    else return [...found, { name, spec, value: rest === '' ? undefined : { text: rest, value: rest } }]
  }
  return found
}

function describe({ name, spec, value }: Match, table: OptionTable): FoundOption {
  const problem = spec
    ? spec.problem
    : table.lenient
      ? undefined
      : 'is not among the options known to be harmless'
  return {
    name,
    value,
    file: spec?.file,
    problem,
  }
}

const compiled = new WeakMap<OptionTable, Specs>()

/** Tables are compiled on first use: most processes never need most of them. */
function compile(table: OptionTable): Specs {
  const known = compiled.get(table)
  if (known) return known
  const specs = new Map<string, Spec>()
  for (const token of table.options.split(' ')) addSpecs(specs, token, undefined)
  for (const [tokens, problem] of Object.entries(table.hazards ?? {})) {
    for (const token of tokens.split(' ')) addSpecs(specs, token, problem)
  }
  compiled.set(table, specs)
  return specs
}

function addSpecs(specs: Map<string, Spec>, token: string, problem: string | undefined): void {
  const parts = /^(--?)(\S+?)(=[rw]?|\?)?$/.exec(token)
  if (!parts) return
  const [, dashes = '', names = '', suffix = ''] = parts
  const spec: Spec = {
    value: suffix === '?' ? 'optional' : suffix === '' ? 'none' : 'required',
    file: suffix === '=r' ? 'read' : suffix === '=w' ? 'write' : undefined,
    problem,
  }
  if (dashes === '--') specs.set(`--${names}`, spec)
  else for (const name of names) specs.set(`-${name}`, spec)
}
