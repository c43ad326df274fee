import type { CommandUnit, Word } from './analysis.js'
import { type DenyForms, type DenyPattern, deniesByFlags, denyForms, denyPattern } from './deny-form.js'
import { readPatternText } from './pattern-text.js'
import { fitsStarWord, hasStar, isLoneStar, mayFitStarWord, type StarWord } from './star-word.js'
import { isSystemPath } from './system-path.js'

/** A pattern for simple commands, matched word by word. */
export type CommandPattern = {
  readonly text: string
  readonly words: readonly StarWord[]
  /** A final star: any further words, or none. */
  readonly rest: boolean
  readonly deny: DenyPattern
}

/**
 * Parses a pattern such as `git log*`. A final star matches the rest of its word and all further words, a trailing `
 * *` any further words, a star elsewhere stays within its word. Throws a `PatternError` with the `position` of the
 * error.
 */
export function compileCommandPattern(text: string): CommandPattern {
  const all = readPatternText(text)
  const last = all.at(-1) ?? []
  const rest = hasStar(last) && last.at(-1) === ''
  const words = rest && isLoneStar(last) ? all.slice(0, -1) : all
  return { text, words, rest, deny: denyPattern(words) }
}

/**
 * Returns whether a pattern denies a command. Broad: quotes, the directory of the name, the case of the name, and the
 * order and grouping of flags make no difference, and a word that is only known at run time may be the denied one.
 */
export function patternDenies(pattern: CommandPattern, unit: CommandUnit): boolean {
  const forms = denyForms(unit)
  const { name } = pattern.deny
  if (name !== undefined && !mayBeNamed(name, forms)) return false
  return (
    forms.argvs.some((args) => fitsInOrder(pattern.words.slice(1), args, pattern.rest, mayFitStarWord)) ||
    deniesByFlags(pattern.deny, pattern.rest, forms)
  )
}

/**
 * Returns whether a pattern allows a command. Strict: no doubts, every word known, the name exactly as written, and a
 * script file that a shell runs named without a star.
 */
export function patternAllows(pattern: CommandPattern, unit: CommandUnit): boolean {
  if (unit.doubts.length > 0) return false
  const values = unit.words.flatMap((word) => (word.value === undefined ? [] : [word.value]))
  if (values.length !== unit.words.length) return false
  const [name = '', ...args] = values
  const [first, ...more] = pattern.words
  if (first === undefined) return true
  if (values.length === 0) return false
  if (unit.scriptFile !== undefined && hasStar(pattern.words[unit.scriptFile] ?? anyWord)) return false
  return namesIt(first, name) && fitsInOrder(more, args, pattern.rest, fitsStarWord)
}

const anyWord: StarWord = ['', '']

/** Returns how closely a pattern describes a command, for ranking: words without a star, then literal characters. */
export function patternSpecificity(
  pattern: CommandPattern,
): readonly [exactWords: number, literalLength: number] {
  const exact = pattern.words.filter((word) => !hasStar(word)).length
  return [exact, pattern.words.reduce((sum, word) => sum + word.join('').length, 0)]
}

/**
 * Returns warnings about parts of a pattern that its author may not have intended; for a linter, not for decisions.
 */
export function patternWarnings({ text, words, rest }: CommandPattern): string[] {
  const last = words.at(-1)
  const glued = rest && last !== undefined && hasStar(last)
  if (!glued) return []
  const literal = last.join('*').slice(0, -1)
  const before = text.slice(0, text.lastIndexOf('*')).trimEnd()
  return words.length === 1
    ? [
        `"${text}" also matches every other command whose name starts with "${literal}"; "${before} *" matches only ${literal}`,
      ]
    : [
        `"${text}" also matches words that continue after "${literal}"; "${before} *" matches only whole words`,
      ]
}

function fitsInOrder<Item extends string | Word>(
  words: readonly StarWord[],
  items: readonly Item[],
  rest: boolean,
  fits: (word: StarWord, item: Item) => boolean,
): boolean {
  if (items.length < words.length || (!rest && items.length > words.length)) return false
  for (let at = 0; at < words.length; at++) {
    const word = words[at]
    const item = items[at]
    if (word === undefined || item === undefined || !fits(word, item)) return false
  }
  return true
}

/** Rejects nearly every pattern with two comparisons, before the full match. */
function mayBeNamed(name: StarWord, { names }: DenyForms): boolean {
  const [full, base] = names
  return (
    (full !== undefined && mayFitStarWord(name, full)) || (base !== undefined && mayFitStarWord(name, base))
  )
}

/** A program given by its path is a different program than the one with that name, unless it is the system's. */
function namesIt(word: StarWord, name: string): boolean {
  if (!name.includes('/')) return fitsStarWord(word, name)
  if (isSystemPath(name) && fitsStarWord(word, name.slice(name.lastIndexOf('/') + 1))) return true
  const directory = name.slice(0, name.lastIndexOf('/') + 1)
  return (word[0] ?? '').startsWith(directory) && fitsStarWord(word, name)
}
