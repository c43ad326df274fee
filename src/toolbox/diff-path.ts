import { CapstanError } from '../tool/errors.js'
import { pathText } from './path-text.js'

/** Returns the name on a `---` or `+++` line: unquoted, without the text after a tab. */
export function readName(rest: string): string {
  if (rest.startsWith('"')) return readQuoted(rest).name
  const tab = rest.indexOf('\t')
  return tab < 0 ? rest : rest.slice(0, tab)
}

/**
 * Returns the two names of a `diff --git` line; undefined where spaces make it ambiguous where the first name ends.
 */
export function readGitNames(rest: string): readonly [string, string] | undefined {
  if (rest.startsWith('"')) {
    const first = readQuoted(rest)
    return [first.name, readName(first.rest.replace(/^ /, ''))]
  }
  const quote = rest.indexOf(' "')
  if (quote >= 0 && rest.endsWith('"')) return [rest.slice(0, quote), readQuoted(rest.slice(quote + 1)).name]
  // Without a rename both names are the same after their prefixes, so each has half of the line.
  const half = (rest.length - 1) / 2
  const [first, second] = [rest.slice(0, half), rest.slice(half + 1)]
  const same = first.replace(/^[^/]*\//, '') === second.replace(/^[^/]*\//, '')
  return Number.isInteger(half) && rest[half] === ' ' && same ? [first, second] : undefined
}

export const nothing = '/dev/null'

/** Returns both names without the prefixes that git adds (`a/` and `b/`, or `i/`, `w/`, `c/`, `o/`). */
export function withoutPrefixes(
  from: string,
  to: string,
  isGit: boolean,
): { readonly from: string; readonly to: string } {
  const prefixes = isGit ? /^[abciow]\// : /^[ab]\//
  const own = (name: string): string | undefined => (name === nothing ? undefined : prefixes.exec(name)?.[0])
  const [first, second] = [own(from), own(to)]
  const both = first !== undefined && second !== undefined && first !== second
  const one = (from === nothing && second === 'b/') || (to === nothing && first === 'a/')
  if (!both && !one) return { from, to }
  return { from: first === undefined ? from : from.slice(2), to: second === undefined ? to : to.slice(2) }
}

/** Throws for a name that could refer to something outside the workspace, or that is invalid. */
export function refuseUnsafe(name: string): void {
  const problem = problemOf(name)
  if (problem !== undefined)
    throw new CapstanError(
      'patch_path',
      `Failed to parse diff: the path ${pathText(name)} ${problem}. Write paths from the workspace root, as in "+++ b/src/a.ts".`,
    )
}

function problemOf(name: string): string | undefined {
  if (name === '') return 'is empty'
  if (name.includes('\0')) return 'has a NUL character in it'
  if (/^([/\\]|~(?:[/]|$)|[A-Za-z]:[/\\])/.test(name)) return 'is absolute'
  const parts = name.split(/[/\\]/)
  if (parts.includes('..')) return 'has ".." in it'
  return parts.includes('') || parts.includes('.') ? 'has an empty or "." part' : undefined
}

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  '"': '"',
  '\\': '\\',
}

/** Parses a quoted name as git writes it: C escapes, and every byte that is not ASCII in octal. */
function readQuoted(text: string): { readonly name: string; readonly rest: string } {
  const bytes: number[] = []
  for (let at = 1; at < text.length; at++) {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0)
    if (character === '"')
      return {
        name: new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes)),
        rest: text.slice(at + 1),
      }
    if (character !== '\\') {
      bytes.push(...new TextEncoder().encode(character))
      at += character.length - 1
      continue
    }
    const octal = /^[0-3][0-7]{2}/.exec(text.slice(at + 1))?.[0]
    const escaped = escapes[text[at + 1] ?? '']
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8))
    else if (escaped !== undefined) bytes.push(escaped.charCodeAt(0))
    else break
    at += octal?.length ?? 1
  }
  throw new CapstanError(
    'patch_path',
    `Failed to parse diff: the quoted path ${text.slice(0, 200)} does not end.`,
  )
}
