import { judge } from '../authority/judge.js'
import { Recent } from '../authority/recent.js'
import type { Rule } from '../authority/rule.js'
import { createRuleBook, type RuleBook } from '../authority/rule-book.js'
import type { Scope } from '../authority/scope.js'
import type { Watchdog } from '../authority/watchdog.js'
import { closedReason } from '../workspace/closed-paths.js'

/**
 * Refuses calls that name a closed path: file tools before they are asked about, and commands, which nothing else holds
 * where there is no sandbox. Uses the rules of a session, so that a command is understood here as it is understood
 * there.
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

/** Sessions of one store in one place have the same book: reading its rules takes longer than judging many calls. */
function bookOf(paths: readonly string[], scope: Scope): RuleBook {
  return books.get(JSON.stringify([paths, scope]), () =>
    createRuleBook({ rules: paths.flatMap(denyRules), scope, defaultDecision: 'allow', doubts: 'allow' }),
  )
}

const maxBooks = 32
const books = new Recent<RuleBook>(maxBooks)

function denyRules(path: string): Rule[] {
  // What means something in a pattern becomes any one character: rather too much is closed than too little.
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
