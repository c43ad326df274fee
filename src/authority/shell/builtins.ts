import type { Word } from './analysis.js'

/**
 * Why a builtin of bash can at best be asked about. Bash evaluates text in the arguments of these that no parser sees
 * (`declare 'a[$(x)]=1'` runs x), or they change what later names mean.
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

/** Commands that only steer the script or do nothing. */
export function isSteering(name: string): boolean {
  return STEERING.has(name)
}

/** Whether nothing of the same shell runs after it. `return` and `break` do not count: out of place they only fail. */
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
