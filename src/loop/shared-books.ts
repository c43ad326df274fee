import { createModeBooks, type ModeName, modes } from '../authority/mode.js'
import type { RuleBook, RuleBookOptions } from '../authority/rule-book.js'

type Books = { readonly book: RuleBook; readonly limit?: RuleBook }

/**
 * The rule books of a session: the very same for all sessions with the same rules in the same place. Reading rules is the longest part
 * of a session's first call, and a book is larger than the rest of the session; neither is changed once it is made.
 */
export function sharedBooks(options: RuleBookOptions, mode: ModeName | undefined): Books {
  const key = JSON.stringify([options, mode])
  const known = recent.get(key)
  const books = known ?? createModeBooks(options, mode && modes[mode])
  // Put back at the end: what was not asked for longest goes first.
  recent.delete(key)
  recent.set(key, books)
  if (recent.size > mostKept) recent.delete(recent.keys().next().value ?? '')
  return books
}

const recent = new Map<string, Books>()
const mostKept = 32
