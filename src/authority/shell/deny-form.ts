import type { CommandUnit, Word } from './analysis.js'
import { commandTable, ownArguments } from './command-table.js'
import { flagAliases } from './flag-aliases.js'
import { GIT_GLOBAL } from './hazard-table-git.js'
import { parseOptions } from './option-table.js'
import { mayFitStarWord, type StarWord } from './star-word.js'

/** A pattern split into name, flags and operands. */
export type DenyPattern = {
  /** In lower case; undefined when the pattern matches any command. */
  readonly name: StarWord | undefined
  /** Short flags are single letters; long flags can end with a star. */
  readonly flags: readonly StarWord[]
  readonly operands: readonly StarWord[]
}

/** The readings of one command that are compared with a deny. */
export type DenyForms = {
  /** As written, and without its directory; none for a unit without words. */
  readonly names: readonly Word[]
  /** Arguments as written, and without options before a subcommand. */
  readonly argvs: readonly (readonly Word[])[]
  /** Every flag in every spelling. */
  readonly flags: ReadonlySet<string>
  readonly operands: readonly (readonly Word[])[]
}

export function denyPattern(words: readonly StarWord[]): DenyPattern {
  const [first, ...args] = words
  const name = first?.map((piece) => piece.toLowerCase())
  const whole = name !== undefined && SINGLE_DASH.has(name.join('*'))
  const flags = args.filter(isFlag).flatMap((word) => patternFlags(word, whole))
  return { name, flags, operands: args.filter((word) => !isFlag(word) && word.join('*') !== '--') }
}

/** Computed once per unit: a command is compared with many patterns. */
export function denyForms(unit: CommandUnit): DenyForms {
  const known = forms.get(unit)
  if (known) return known
  const made = makeForms(unit)
  forms.set(unit, made)
  return made
}

/** Returns whether every flag of the pattern is present, in any order, grouping or spelling, and the operands match. */
export function deniesByFlags({ flags, operands }: DenyPattern, rest: boolean, unit: DenyForms): boolean {
  const hasFlags = flags.every(([first = '', ...more]) =>
    more.length === 0 ? unit.flags.has(first) : [...unit.flags].some((flag) => flag.startsWith(first)),
  )
  if (!hasFlags) return false
  return unit.operands.some(
    (words) =>
      words.length >= operands.length &&
      (rest || words.length === operands.length) &&
      operands.every((operand, at) => {
        const word = words[at]
        return word !== undefined && mayFitStarWord(operand, word)
      }),
  )
}

const forms = new WeakMap<CommandUnit, DenyForms>()

/** Commands whose long options have one dash: their letters are not flags. */
const SINGLE_DASH = new Set(
  'find go java javac terraform openssl ffmpeg gcc g++ clang magick convert'.split(' '),
)

function isFlag(word: StarWord): boolean {
  const first = word[0] ?? ''
  return first.startsWith('-') && first !== '-' && word.join('') !== '--'
}

/** `-rf*` needs r and f; `--force*` any long option with that beginning. */
function patternFlags(word: StarWord, whole: boolean): StarWord[] {
  const first = word[0] ?? ''
  if (first.startsWith('--') || whole) return [word]
  return [...first.slice(1)].map((letter) => [`-${letter}`])
}

function makeForms(unit: CommandUnit): DenyForms {
  const [first, ...args] = unit.words
  if (!first) return { names: [], argvs: [[]], flags: new Set(), operands: [[]] }
  const full = first.value?.toLowerCase()
  const name = full?.slice(full.lastIndexOf('/') + 1)
  const names =
    full === undefined || name === undefined
      ? [first]
      : [
          { text: full, value: full },
          { text: name, value: name },
        ]
  const afterGlobals = name === 'git' ? parseOptions(GIT_GLOBAL, args).operands : args
  const written = args.filter((word) => !isFlagWord(word))
  const table = name === undefined ? undefined : commandTable(name)
  return {
    names,
    argvs: afterGlobals === args ? [args] : [args, afterGlobals],
    flags: unitFlags(name ?? '', afterGlobals),
    operands: [
      written,
      ...(table && name !== undefined ? [parseOptions(table, ownArguments(name, args)).operands] : []),
      ...(afterGlobals === args ? [] : [afterGlobals.filter((word) => !isFlagWord(word))]),
    ],
  }
}

function isFlagWord({ value }: Word): boolean {
  return value?.startsWith('-') === true && value !== '-'
}

function unitFlags(name: string, args: readonly Word[]): Set<string> {
  const flags = new Set<string>()
  const subcommand = args.find((word) => word.value !== undefined && !isFlagWord(word))?.value ?? ''
  const aliases = flagAliases(name, subcommand)
  for (const { value } of args.filter(isFlagWord)) {
    if (value === undefined) continue
    if (value.startsWith('--') || SINGLE_DASH.has(name)) {
      const long = value.replace(/=.*$/s, '')
      flags.add(value).add(long)
      // GNU commands accept abbreviations.
      for (const [full, letters] of aliases) {
        if (full.startsWith(long) && long.length > 2) for (const flag of [full, ...letters]) flags.add(flag)
      }
    } else {
      for (const letter of /^-([\w]*)/.exec(value)?.[1] ?? '') flags.add(`-${letter}`)
    }
  }
  for (const [full, letters] of aliases) {
    if (letters.some((letter) => flags.has(letter))) for (const flag of [full, ...letters]) flags.add(flag)
  }
  return flags
}
