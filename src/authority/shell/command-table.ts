import type { Word } from './analysis.js'
import { type CommandTable, HAZARD_TABLE, SAME_TABLE } from './hazard-table.js'
import { DEV_TABLE } from './hazard-table-dev.js'

/** Returns the name used in the tables: without the directory and without a version (`python3.11`). */
export function commandName(word: Word | undefined): string | undefined {
  const name = word?.value?.slice(word.value.lastIndexOf('/') + 1)
  if (name === undefined) return undefined
  return /^(python|pip|perl|ruby|php|lua|node|pytest)[\d.-]+$/.exec(name)?.[1] ?? name
}

export function commandTable(name: string): CommandTable | undefined {
  const known = Object.hasOwn(SAME_TABLE, name) ? (SAME_TABLE[name] ?? name) : name
  if (Object.hasOwn(HAZARD_TABLE, known)) return HAZARD_TABLE[known]
  return Object.hasOwn(DEV_TABLE, known) ? DEV_TABLE[known] : undefined
}

/**
 * Returns the arguments that a command reads itself: `python -m module` passes on the rest, old tar accepts letters
 * without a dash.
 */
export function ownArguments(name: string, args: readonly Word[]): readonly Word[] {
  const [first] = args
  if (name === 'python') {
    const module = args.findIndex((word) => /^-[a-zA-Z]*m/.test(word.value ?? ''))
    return module < 0 ? args : args.slice(0, module + (args[module]?.value?.endsWith('m') ? 2 : 1))
  }
  if (name === 'go') {
    const end = args.findIndex((word) => /^--?args$/.test(word.value ?? ''))
    return end < 0 ? args : args.slice(0, end)
  }
  if (first?.value !== undefined && /^(tar|gtar|bsdtar)$/.test(name) && /^[a-zA-Z]+$/.test(first.value)) {
    return oldTarArguments(first.value, args.slice(1))
  }
  return args
}

/** `tar czf a.tar b`: letters with a value use the words after the letters, in order. */
function oldTarArguments(letters: string, rest: readonly Word[]): Word[] {
  const words: Word[] = []
  const values = [...rest]
  for (const letter of letters) {
    words.push({ text: `-${letter}`, value: `-${letter}` })
    const value = 'fCTXbNVgHIF'.includes(letter) ? values.shift() : undefined
    if (value) words.push(value)
  }
  return [...words, ...values]
}
