import type { SbplFilter, SbplRule, SbplWord } from './sbpl.js'

/** A parsed profile. */
export type SbplProfile = { readonly default: SbplRule['action']; readonly rules: readonly SbplRule[] }

/** Parses the part of the Seatbelt language that is used here. Throws for everything else. */
export function readSbpl(text: string): SbplProfile {
  const forms = readForms(text)
  const [version, ...rest] = forms
  if (!isList(version) || symbolOf(version[0]) !== 'version' || symbolOf(version[1]) !== '1')
    throw unreadable('a profile begins with (version 1)')
  let defaultAction: SbplRule['action'] | undefined
  const rules: SbplRule[] = []
  for (const form of rest) {
    const rule = ruleOf(form)
    if (!rule.operations.includes('default')) rules.push(rule)
    else if (rule.operations.length > 1 || rule.filters.length > 0 || defaultAction !== undefined)
      throw unreadable('a profile has one default, without filters')
    else defaultAction = rule.action
  }
  if (defaultAction === undefined) throw unreadable('a profile says what holds where no rule does')
  return { default: defaultAction, rules }
}

type Form = SbplWord | readonly Form[]

function isList(form: Form | undefined): form is readonly Form[] {
  return Array.isArray(form)
}

function symbolOf(form: Form | undefined): string | undefined {
  return form !== undefined && !isList(form) && 'symbol' in form ? form.symbol : undefined
}

function textOf(form: Form | undefined): string {
  if (form === undefined || isList(form) || !('text' in form)) throw unreadable('a string is missing')
  return form.text
}

function ruleOf(form: Form): SbplRule {
  if (!isList(form)) throw unreadable('a rule is a list')
  const [action, ...rest] = form
  const name = symbolOf(action)
  if (name !== 'allow' && name !== 'deny') throw unreadable('a rule begins with allow or deny')
  const operations: string[] = []
  const filters: SbplFilter[] = []
  for (const part of rest) {
    if (isList(part)) filters.push(filterOf(part))
    else if ('symbol' in part && filters.length === 0) operations.push(part.symbol)
    else throw unreadable('a rule has operations, then filters')
  }
  if (operations.length === 0) throw unreadable('a rule names an operation')
  return { action: name, operations, filters }
}

function filterOf([head, ...words]: readonly Form[]): SbplFilter {
  const name = symbolOf(head)
  if (name === undefined) throw unreadable('a filter begins with its name')
  const [first] = words
  if (name === 'literal' || name === 'subpath') return { kind: name, path: only(words) }
  if (name === 'regex') return { kind: 'regex', pattern: only(words) }
  if (name === 'require-all' || name === 'require-any') return { kind: name, filters: words.map(inner) }
  if (name === 'require-not') {
    if (words.length !== 1 || first === undefined) throw unreadable('require-not has one filter')
    return { kind: name, filter: inner(first) }
  }
  return { kind: 'other', name, words: words.map(wordOf) }
}

function inner(form: Form): SbplFilter {
  if (!isList(form)) throw unreadable('a filter is a list')
  return filterOf(form)
}

function only(words: readonly Form[]): string {
  if (words.length !== 1) throw unreadable('a path filter has one string')
  return textOf(words[0])
}

function wordOf(form: Form): SbplWord {
  if (isList(form)) throw unreadable('lists inside this filter are not used here')
  return form
}

/** Parses a text into lists of parentheses, strings and symbols; a comment ends with its line. */
function readForms(text: string): Form[] {
  const top: Form[] = []
  const open: Form[][] = []
  const add = (form: Form): void => void (open.at(-1) ?? top).push(form)
  const token = /\s+|;[^\n]*|[()]|#?"|[^\s();"]+/y
  for (let at = 0; at < text.length; ) {
    token.lastIndex = at
    const [word = ''] = token.exec(text) ?? []
    at += word.length
    if (word === '(') open.push([])
    else if (word === ')') {
      const list = open.pop()
      if (list === undefined) throw unreadable('a parenthesis closes nothing')
      add(list)
    } else if (word === '"') {
      const string = readString(text, at)
      add({ text: string.text })
      at = string.end
    } else if (word === '#"') throw unreadable('raw strings are not used here')
    else if (!/^[\s;]/.test(word)) add({ symbol: word })
  }
  if (open.length > 0) throw unreadable('a parenthesis is not closed')
  return top
}

function readString(text: string, start: number): { text: string; end: number } {
  let found = ''
  for (let at = start; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '"') return { text: found, end: at + 1 }
    if (character !== '\\') found += character
    else {
      at++
      // Other escapes have a meaning in the language, such as a line break, but are never written here.
      if (text[at] !== '"' && text[at] !== '\\') throw unreadable('a backslash is followed by another letter')
      found += text.charAt(at)
    }
  }
  throw unreadable('a string is not closed')
}

function unreadable(why: string): SyntaxError {
  return new SyntaxError(`The Seatbelt profile cannot be read: ${why}.`)
}
