import { judge } from '../authority/judge.js'
import { Recent } from '../authority/recent.js'
import type { Rule } from '../authority/rule.js'
import { createRuleBook, type RuleBook } from '../authority/rule-book.js'
import type { Scope } from '../authority/scope.js'
import type { Watchdog } from '../authority/watchdog.js'
import { closedReason } from '../workspace/closed-paths.js'

/**
 * Refuses calls that name a closed path: file tools before the user is asked, and commands, which nothing else
 * restricts without a sandbox. Uses a session's rules, so that commands are parsed in the same way.
 */
export function watchClosedPaths(paths: readonly string[]): Watchdog {
  let known: { readonly scope: Scope; readonly book: RuleBook } | undefined
  return ({ expanded }) => {
    const { scope } = expanded
    if (known?.scope !== scope) known = { scope, book: bookOf(paths, scope) }
    const { verdict } = judge(expanded, known.book)
    return verdict.action === 'deny' ? verdict : { action: 'allow' }
  }
}

/**
 * Caches rule books: sessions with the same store and workspace share one, because parsing its rules takes longer than
 * judging many calls.
 */
function bookOf(paths: readonly string[], scope: Scope): RuleBook {
  return books.get(JSON.stringify([paths, scope]), () =>
    createRuleBook({ rules: paths.flatMap(denyRules), scope, defaultDecision: 'allow', doubts: 'allow' }),
  )
}

const maxBooks = 32
const books = new Recent<RuleBook>(maxBooks)

function denyRules(path: string): Rule[] {
  // Special characters of patterns become `?`, which matches any character: it is safer to close too much than too
  // little.
  const pattern = path.replace(/[^\p{L}\p{N}._ /-]/gu, '?')
  return (['fs.read', 'fs.write'] as const).flatMap((permission) =>
    [pattern, `${pattern}/**`].map(
      (one): Rule => ({
        permission,
        pattern: one,
        action: 'deny',
        source: 'manifest',
        pinned: true,
        loose: true,
        reason: closedReason,
      }),
    ),
  )
}
