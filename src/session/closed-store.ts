import { judge } from '../authority/judge.js'
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
  const rules = paths.flatMap(denyRules)
  let known: { readonly scope: Scope; readonly book: RuleBook } | undefined
  return ({ expanded }) => {
    if (known?.scope !== expanded.scope) {
      const { scope } = expanded
      known = { scope, book: createRuleBook({ rules, scope, defaultDecision: 'allow', doubts: 'allow' }) }
    }
    const { verdict } = judge(expanded, known.book)
    return verdict.action === 'deny' ? verdict : { action: 'allow' }
  }
}

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
