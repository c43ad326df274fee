import type { Call, JudgedSubject } from './call.js'
import { parseHost } from './host-pattern.js'
import { preparePath } from './path-pattern.js'
import { matchingRules, type RuleBook, restrictsSomeFiles } from './rule-book.js'
import { workspaceRoots } from './scope.js'

/** The files that rules deny to a command, for a sandbox that hides them. */
export type DeniedReads = {
  /** The same object as long as the rules are the same. */
  readonly key: object
  /** Returns whether an absolute path is denied. */
  denies(path: string): boolean
  /** Directories outside the workspace that may contain denied files. */
  readonly outside: readonly string[]
}

/**
 * Returns the files that a rule of one of the books denies to this call, or undefined when no rule denies only some
 * files. Only denies count: a file with an ask rule needs approval when a command names it, and a file that no rule
 * covers follows the verdict on the command.
 */
export function deniedReads(call: Call, books: readonly RuleBook[]): DeniedReads | undefined {
  const restricting = books.filter((book) => restrictsSomeFiles(book, call))
  if (restricting.length === 0) return undefined
  return {
    key: keyFor(call.tool, restricting),
    denies: (path) => {
      const subject: JudgedSubject = {
        kind: 'path',
        fs: 'read',
        path: preparePath(path),
        origin: 'argument',
        inside: true,
        written: path,
      }
      return restricting.some((book) => isDenied(book, call, subject))
    },
    outside: [...new Set(restricting.flatMap(placesOutside))],
  }
}

/**
 * Returns whether a rule of one of the books denies this call a connection to the host. `host` has a port unless it
 * is 80 or 443.
 */
export function deniesHost(call: Call, books: readonly RuleBook[], host: string): boolean {
  const subject: JudgedSubject = { kind: 'host', host: parseHost(host), text: host, origin: 'command' }
  return books.some((book) => isDenied(book, call, subject))
}

function isDenied(book: RuleBook, call: Call, subject: JudgedSubject): boolean {
  const matches = matchingRules(book, call, subject)
  if (matches.some(({ pinned, rule }) => pinned && rule.action === 'deny')) return true
  return matches.find(({ rule }) => rule.untrusted !== true)?.rule.action === 'deny'
}

/**
 * Returns the fixed beginnings of absolute patterns. A pattern without one, such as `**\/.env`, applies in the
 * workspace.
 */
function placesOutside({ rules, scope }: RuleBook): string[] {
  const roots = workspaceRoots(scope)
  return rules.flatMap(({ action, pattern }) => {
    if (action !== 'deny') return []
    const absolute =
      pattern.startsWith('~/') && scope.home !== undefined ? scope.home + pattern.slice(1) : pattern
    if (!absolute.startsWith('/')) return []
    const fixed = /^[^*?[{\\]*/.exec(absolute)?.[0] ?? ''
    const place = fixed === absolute ? fixed : fixed.slice(0, fixed.lastIndexOf('/'))
    const clean = place.replace(/\/+$/, '')
    const isInside = roots.some((root) => clean === root || clean.startsWith(`${root}/`))
    return clean === '' || isInside ? [] : [clean]
  })
}

const keys: { readonly tool: string; readonly books: readonly RuleBook[]; readonly key: object }[] = []
const maxKeys = 16

function keyFor(tool: string, books: readonly RuleBook[]): object {
  const known = keys.find(
    (one) =>
      one.tool === tool &&
      one.books.length === books.length &&
      one.books.every((book, at) => book === books[at]),
  )
  if (known !== undefined) return known.key
  const made = { tool, books, key: {} }
  keys.unshift(made)
  keys.length = Math.min(keys.length, maxKeys)
  return made.key
}
