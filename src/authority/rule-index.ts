import type { JudgedSubject } from './call.js'
import { type CompiledRule, ruleMatches, ruleSpecificity } from './compiled-rule.js'
import type { CommandUnit } from './shell/analysis.js'
import type { CommandPattern } from './shell/command-pattern.js'

/** `tool` over `capability` over `wildcard` over `everything`. */
export type Level = 'tool' | 'capability' | 'wildcard' | 'everything'

/** A rule in the index. */
export type Entry = {
  readonly compiled: CompiledRule
  readonly level: Level
  readonly widened: boolean
  readonly pinned: boolean
}
export type Found = { readonly entry: Entry; readonly specificity: number }

/** Rules of one permission, by a name that everything they match has; rules without such a name are always tried. */
export type RuleIndex = {
  readonly all: Entry[]
  readonly path: Drawer
  readonly host: Drawer
  readonly command: Drawer
  restrictsPart: boolean
}
type Drawer = { readonly keyed: Map<string, Entry[]>; readonly open: Entry[] }

export function createRuleIndex(): RuleIndex {
  const drawer = (): Drawer => ({ keyed: new Map(), open: [] })
  return { all: [], path: drawer(), host: drawer(), command: drawer(), restrictsPart: false }
}

export function fill(shelf: RuleIndex, entry: Entry): void {
  const { all, path, host, command, rule } = entry.compiled
  if (all) shelf.all.push(entry)
  if (!all && rule.action !== 'allow') shelf.restrictsPart = true
  if (path !== undefined && !all) file(shelf.path, path.keys, entry)
  if (host !== undefined) file(shelf.host, [host.kind === 'any' ? [] : [host.name]], entry)
  if (command !== undefined) file(shelf.command, [commandKeys(command)], entry)
}

/** Stores a rule once per alternative, under the least used of the keys by which the alternative can be found. */
function file({ keyed, open }: Drawer, alternatives: readonly (readonly string[])[], entry: Entry): void {
  if (alternatives.some((keys) => keys.length === 0)) {
    open.push(entry)
    return
  }
  for (const keys of alternatives) {
    const size = (key: string): number => keyed.get(key)?.length ?? 0
    const key = keys.reduce((best, one) => (size(one) < size(best) ? one : best))
    const entries = keyed.get(key)
    if (entries === undefined) keyed.set(key, [entry])
    else entries.push(entry)
  }
}

export function collect(shelf: RuleIndex, tool: string, subject: JudgedSubject, found: Found[]): void {
  for (const entry of shelf.all) tryEntry(entry, tool, subject, found)
  if (subject.kind !== 'path' && subject.kind !== 'host' && subject.kind !== 'command') return
  const drawer = shelf[subject.kind]
  for (const entry of drawer.open) tryEntry(entry, tool, subject, found)
  if (drawer.keyed.size === 0) return
  const tried = new Set<Entry>()
  for (const entries of entriesFor(drawer, keysOf(subject))) {
    for (const entry of entries) {
      // A pattern can be stored under several keys and must count once.
      if (tried.has(entry)) continue
      tried.add(entry)
      tryEntry(entry, tool, subject, found)
    }
  }
}

function entriesFor({ keyed }: Drawer, keys: readonly string[] | undefined): Iterable<readonly Entry[]> {
  if (keys === undefined) return keyed.values()
  return keys.flatMap((key) => {
    const entries = keyed.get(key)
    return entries === undefined ? [] : [entries]
  })
}

export function tryEntry(entry: Entry, tool: string, subject: JudgedSubject, found: Found[]): void {
  // A rule for this tool is already in the tool's own index.
  if (entry.widened && isFor(entry.compiled, tool)) return
  if (ruleMatches(entry.compiled, subject))
    found.push({ entry, specificity: ruleSpecificity(entry.compiled, subject.kind) })
}

/** Returns the names under which a subject can be stored; undefined: it can be anything. */
function keysOf(subject: JudgedSubject): readonly string[] | undefined {
  if (subject.kind === 'path') return subject.path.keys()
  if (subject.kind === 'host') {
    const name = subject.host?.name
    return name === undefined ? undefined : domainsOf(name)
  }
  return subject.kind === 'command' ? unitKeys(subject.unit) : undefined
}

/** Returns a name and every domain above it. */
function domainsOf(name: string): string[] {
  const domains = [name]
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1))
    domains.push(name.slice(dot + 1))
  return domains
}

/**
 * Returns the command of a pattern, if its first word is fixed, with each other word that every match has. Flags are
 * left out: they have many spellings.
 */
function commandKeys({ words }: CommandPattern): string[] {
  const [first, ...more] = words
  if (first?.length !== 1) return []
  const name = baseName(first[0] ?? '')
  const plain = more.flatMap((word) =>
    word.length === 1 && !word[0]?.startsWith('-') ? [word[0] ?? ''] : [],
  )
  return [...plain, ''].map((word) => `${name} ${word}`)
}

/** Returns the keys of a command; undefined when a word is not known, because it can then be any command. */
function unitKeys({ words }: CommandUnit): string[] | undefined {
  const values = words.flatMap(({ value }) => (value === undefined ? [] : [value]))
  const [name] = values
  if (name === undefined || values.length < words.length) return undefined
  return ['', ...new Set(values.slice(1))].map((word) => `${baseName(name)} ${word}`)
}

function baseName(command: string): string {
  return command.slice(command.lastIndexOf('/') + 1).toLowerCase()
}

function isFor({ permission }: CompiledRule, tool: string): boolean {
  return permission.kind === 'tool' && permission.id === tool
}
