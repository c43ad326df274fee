import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { root } from './run.js'
import { listFiles, readSource, resolveRelative, type SourceFile } from './source-tree.js'

/** A word of the "avoid" column of docs/design/glossary.md, and what to write instead. */
type AvoidedWord = { readonly word: RegExp; readonly write: string }

export const avoidedWords: readonly AvoidedWord[] = [
  { word: /\bwhom?ever\b/i, write: 'the caller, the user, the process that …' },
  { word: /\bnobody\b/i, write: 'no user, no caller, nothing' },
  { word: /\b(some|any)body\b/i, write: 'a user, another process' },
  { word: /\banew\b/i, write: 'again' },
  { word: /\btold\b|\btells\b/i, write: 'report, print, emit, say' },
  { word: /\bstands\b/i, write: 'is, is in, means' },
  { word: /\b(go|goes|going|went|gone) on\b/i, write: 'continue, resume' },
  { word: /\bbeside\b/i, write: 'next to, with' },
  { word: /\bbehind\b/i, write: 'after' },
  { word: /\bthe one who\b|\bthose who\b/i, write: 'the caller, the user' },
  { word: /\bwhat (is|was) odd\b/i, write: 'warning' },
  { word: /\bwhat became of\b/i, write: 'the outcome of' },
  { word: /\bfor good\b/i, write: 'finally, permanently' },
  { word: /\bcalled off\b/i, write: 'cancelled' },
  { word: /\bg(ave|iven|ives?) back\b/i, write: 'return, release' },
  { word: /\b(is|are|was) (passed over|had)\b/i, write: 'skipped, held' },
  { word: /\b(lets?|letting) go of\b/i, write: 'release, close, disconnect' },
  { word: /\b(holds?|held|holding) (up|back)\b/i, write: 'delay, block, withhold' },
  { word: /\bfor ever\b/i, write: 'forever' },
  { word: /\bout of reach\b/i, write: 'not accessible' },
  { word: /\bthat very\b|\bthe very same\b/i, write: 'exactly that, the same' },
  { word: /\b(hears?|heard) of\b/i, write: 'get, receive' },
  { word: /\bto the letter\b/i, write: 'exactly' },
  {
    word: /\b(that|which|what|it|this) (is|are|was|were) no (?!longer\b|more\b|other\b|one\b|way\b|need\b)\w+/i,
    write: 'is not a',
  },
  { word: /\b(most|longest|largest|least)[A-Z]\w*/, write: 'max* or min* for a limit' },
]

/** Where an avoided word is the right one: removed from a line before the line is checked. */
const allowedPhrases: readonly RegExp[] = [
  // A whole string is data: a name of a user, an answer of a protocol.
  /(['"`])(nobody|behind)\1/g,
  /\b(leaves?|left|leaving)\b[^.]{0,60}?\bbehind\b/gi,
  // The option of `git status`.
  /--(no-)?ahead-behind\b/g,
  /\b(falls?|fell|fallen|lags?) behind\b/gi,
  /\bbehind (an?|the|its|your|one) (\w+ )?(proxy|interface|load balancer|firewall|flag|gateway)\b/gi,
]

export const maxCommentLine = 120

/**
 * The files whose English is checked, by area: a folder of `src/` or `test/`, another folder of the root, or `root`.
 */
export function readAreas(): Map<string, string[]> {
  const areas = new Map<string, string[]>()
  const folders = ['src', 'test', 'docs', 'examples', 'scripts', 'bench', '.changeset', '.github']
  const files = [...folders.flatMap((folder) => listFiles(folder, checkedFile)), ...rootPages]
  for (const path of files.filter((each) => !exempt.test(each))) {
    const area = areaOf(path)
    areas.set(area, [...(areas.get(area) ?? []), path])
  }
  return areas
}

/** What is wrong in one file, as `path:line: …`: avoided words in its path, its text, and its names. */
export function wordProblems(path: string, text: string): string[] {
  const lines = [path, ...withoutGenerated(text).split('\n')]
  return lines.flatMap((line, at) =>
    findWords(line).map(
      ({ found, write }) => `${at === 0 ? path : `${path}:${at}`}: "${found}": write ${write}`,
    ),
  )
}

/** A page without the tables that `npm run bench -- tables` writes; lines keep their numbers. */
function withoutGenerated(text: string): string {
  return text.replace(/<!-- bench:(?!end)[\s\S]*?<!-- bench:end -->/g, (table) => table.replace(/[^\n]/g, ''))
}

/** The comment lines of a file that are too long, as `path:line`. Addresses and JSDoc types cannot be wrapped. */
export function longComments(path: string, text: string): string[] {
  return text.split('\n').flatMap((line, at) => {
    const isComment = /^\s*(\/\/|\/?\*)/.test(line)
    const long =
      line.length > maxCommentLine &&
      !/https?:\/\/\S{60}|@(?:typedef|type|param|returns)\b|biome-ignore/.test(line)
    return isComment && long ? [`${path}:${at + 1}: ${line.length} columns`] : []
  })
}

/** The public names that are declared without a doc comment, as `path: name`. */
export function undocumentedNames(entries: readonly string[]): string[] {
  const problems = entries.flatMap((entry) =>
    publicNames(entry).flatMap(({ path, name }) =>
      isDocumented(readText(path), name) ? [] : [`${path}: ${name} has no doc comment`],
    ),
  )
  return [...new Set(problems)].sort()
}

export function areaOf(path: string): string {
  const [first = '', second = '', ...rest] = path.split('/')
  if (second === '') return 'root'
  if (first !== 'src' && first !== 'test') return first
  return rest.length === 0 ? first : `${first}/${second}`
}

export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

const checkedFile = /\.(ts|mjs|md|yml|acl)$/
const rootPages = ['README', 'CONTRIBUTING', 'SECURITY', 'CODE_OF_CONDUCT', 'AGENTS', 'CHANGELOG'].map(
  (name) => `${name}.md`,
)

/**
 * Lists of these words; texts that a script writes from the source; stored formats of earlier versions; texts of other
 * projects.
 */
const exempt =
  /^(docs\/design\/glossary\.md|scripts\/code-figures\.mjs|docs\/reference\.md|test\/house\/plain-english|test\/golden\/[^/]+\/v|test\/seeds\/|bench\/node_modules)/

/** Matches every line that can have an avoided word, and few others: most of the time went into looking for each. */
const candidates = ['i', ''].map((flags) => {
  const sources = avoidedWords.filter(({ word }) => word.flags === flags).map(({ word }) => word.source)
  // `toldOnce` and `goes_on` count too.
  const loose = sources.map((source) => source.replaceAll(/\\b|\(\?![^)]*\)/g, '').replaceAll(' ', '[ _]?'))
  return new RegExp(loose.join('|'), flags)
})

function findWords(line: string): { found: string; write: string }[] {
  if (!candidates.some((words) => words.test(line))) return []
  const rest = allowedPhrases.reduce((text, phrase) => text.replace(phrase, ''), line)
  // `toldOnce` and `was_told` are read as words too.
  const words = rest.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll('_', ' ')
  return avoidedWords.flatMap(({ word, write }) => {
    const [found] = word.exec(rest) ?? word.exec(words) ?? []
    return found === undefined ? [] : [{ found, write }]
  })
}

/** The names that an entry file gives to users, with the file that declares each. */
function publicNames(entry: string): { path: string; name: string }[] {
  return readSource(entry).exports.flatMap(({ name, from }) => {
    if (from === undefined) return [{ path: entry, name }]
    const target = resolveRelative(entry, from.specifier)
    if (target === undefined) return []
    if (from.name === '*') return name === '*' ? publicNames(target) : []
    return [declarationOf(target, from.name)]
  })
}

/** Follows re-exports to the file that declares a name. */
function declarationOf(path: string, name: string): { path: string; name: string } {
  const { exports } = sourceOf(path)
  const own = exports.find((each) => each.name === name)
  const stars = exports.filter((each) => each.name === '*')
  const candidates = own?.from === undefined ? (own === undefined ? stars : []) : [own]
  for (const { from } of candidates) {
    const target = from && resolveRelative(path, from.specifier)
    if (from === undefined || target === undefined) continue
    const found = declarationOf(target, from.name === '*' ? name : from.name)
    if (own !== undefined || declares(found.path, found.name)) return found
  }
  return { path: posix.normalize(path), name }
}

function declares(path: string, name: string): boolean {
  return sourceOf(path).exports.some((each) => each.name === name && each.from === undefined)
}

const sources = new Map<string, SourceFile>()

function sourceOf(path: string): SourceFile {
  const source = sources.get(path) ?? readSource(path)
  sources.set(path, source)
  return source
}

/**
 * Whether a declaration of this name has a doc comment right before it. Imported names are documented where they are
 * declared.
 */
function isDocumented(text: string, name: string): boolean {
  const declaration = new RegExp(
    `(\\*/)?\\s*^(?:export )?(?:declare )?(?:abstract )?(?:async )?(?:function\\*?|class|const|let|type|interface|enum) ${name.replaceAll('$', '\\$')}\\b`,
    'gm',
  )
  const found = [...text.matchAll(declaration)]
  return found.length === 0 || found.some(([, comment]) => comment !== undefined)
}
