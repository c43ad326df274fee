import type { Word } from './analysis.js'

/**
 * Returns why no pattern can allow a bash builtin. Bash evaluates text in the arguments of these builtins that no
 * parser sees (`declare 'a[$(x)]=1'` runs x), or they change what later names mean.
 */
export function builtinDoubt(name: string): string | undefined {
  if (EVALUATES.has(name)) return `bash evaluates what is given to ${name}`
  if (CHANGES_NAMES.has(name)) return `${name} changes what later commands mean`
  return undefined
}

/** Builtins after which no name of the same text can be trusted. */
export function redefinesNames(name: string): boolean {
  return CHANGES_NAMES.has(name)
}

/** Returns whether a command only controls the script or does nothing. */
export function isSteering(name: string): boolean {
  return STEERING.has(name)
}

/**
 * Returns whether nothing in the same shell runs after it. `return` and `break` do not count: outside of a function
 * or loop they only fail.
 */
export function neverReturns(name: string, args: readonly Word[]): boolean {
  return name === 'exit' && args.length <= 1 && args.every((word) => /^\d+$/.test(word.value ?? ''))
}

const EVALUATES = new Set(
  'eval . source trap exec export declare typeset readonly local let read mapfile readarray unset getopts compgen complete compopt bind fc history'.split(
    ' ',
  ),
)
const CHANGES_NAMES = new Set('alias unalias hash enable set shopt'.split(' '))
const STEERING = new Set('cd pushd true false : exit return break continue'.split(' '))
