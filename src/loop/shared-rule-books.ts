import { builtinRules } from '../authority/default-rules.js'
import { createModeBooks, type ModeName, modes } from '../authority/mode.js'
import { Recent } from '../authority/recent.js'
import type { RuleBook, RuleBookOptions } from '../authority/rule-book.js'

type Books = { readonly book: RuleBook; readonly limit?: RuleBook }

/**
 * Returns the rule books of a session, with the built-in rules before its own: one object for all sessions with the
 * same rules in the same place. Parsing rules is the longest part of a session's first call, and a book is larger
 * than the rest of the session. Books never change, so they can be shared.
 */
export function sharedRuleBooks(own: RuleBookOptions, mode: ModeName | undefined): Books {
  return recent.get(JSON.stringify([own, mode]), () =>
    createModeBooks(
      { ...own, rules: [...builtinRules(own.explicitDefault ?? false), ...own.rules] },
      mode && modes[mode],
    ),
  )
}

const maxKept = 32
const recent = new Recent<Books>(maxKept)
