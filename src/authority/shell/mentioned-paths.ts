import { tryOr } from '../../tool/errors.js'
import type { PathOrigin, Word } from './analysis.js'
import { commandTable, ownArguments } from './command-table.js'
import { GIT_GLOBAL, GIT_SUBCOMMANDS } from './hazard-table-git.js'
import { namedFile } from './named-file.js'
import { parseOptions } from './option-table.js'
import { isFollowed, knownName, namesFilesByTable } from './program-kind.js'

export type MentionedPath = {
  readonly path: string
  readonly origin: Extract<PathOrigin, 'mention' | 'part' | 'prose'>
  readonly tree?: true
}

/**
 * Returns every path that the arguments of a command may name, where no table says which of them are files. A list of
 * programs that read files can never be complete, so each argument counts, as a whole and in parts.
 */
export function mentionedPaths(words: readonly Word[]): MentionedPath[] {
  const found = new Map<string, MentionedPath>()
  for (const word of candidates(words)) {
    const text = word.value ?? namedFile(word)
    if (text === undefined) continue
    for (const one of wordPaths(text)) {
      const before = found.get(one.path)
      if (before === undefined || ORDER.indexOf(one.origin) < ORDER.indexOf(before.origin))
        found.set(one.path, one)
    }
  }
  return [...found.values()]
}

const ORDER: readonly PathOrigin[] = ['mention', 'part', 'prose']

function candidates(words: readonly Word[]): readonly Word[] {
  const [first, ...args] = words
  const name = knownName(first)
  if (name === undefined) return args
  if (name === 'git') return gitWords(args)
  if (isFollowed(name)) return []
  if (!namesFilesByTable(name)) return args
  const table = commandTable(name)
  if (!table) return []
  const { options, operands } = parseOptions(table, ownArguments(name, args))
  return [
    // The table does not say how the value of an unlisted option is used.
    ...(table.lenient ? args.filter(({ value }) => value !== undefined && /^--?[^=]+=/.test(value)) : []),
    ...options.flatMap(({ problem, value }) => (problem !== undefined && value ? [value] : [])),
    // `strings @file` reads its arguments from the file; jq reads files named by options with two values.
    ...(name === 'jq' ? operands : operands.filter(({ value }) => value?.startsWith('@'))),
  ]
}

/** Messages, dates and patterns of git are text; everything else may be or contain a path (`HEAD:.env`). */
function gitWords(args: readonly Word[]): readonly Word[] {
  const [subcommand, ...rest] = parseOptions(GIT_GLOBAL, args).operands
  const name = subcommand?.value ?? ''
  const table = Object.hasOwn(GIT_SUBCOMMANDS, name) ? GIT_SUBCOMMANDS[name] : undefined
  if (!table) return args.filter((word) => word !== subcommand)
  const texts = new Set(
    parseOptions(table, rest).options.flatMap(({ name: option, value }) =>
      GIT_TEXT.has(option) && value ? [value.text] : [],
    ),
  )
  return args.filter(
    (word) => word !== subcommand && !texts.has(word.text) && !GIT_ATTACHED_TEXT.test(word.text),
  )
}

const GIT_TEXT = new Set(
  '-m --message --author --committer --date --grep --format --pretty --since --until --after --before -S -G --trailer --fixup --squash -n'.split(
    ' ',
  ),
)
const GIT_ATTACHED_TEXT =
  /^(-[SG]|--(message|author|committer|date|grep|format|pretty|since|until|after|before|trailer)=)/

function* wordPaths(text: string): Generator<MentionedPath> {
  if (text === '' || text === '-' || text === '--') return
  const address = /^([a-z][\w+.-]*):\/\//i.exec(text)
  if (address) {
    // Paths of another machine are not local; a file URL is.
    if (address[1]?.toLowerCase() === 'file')
      yield { path: decoded(text.slice(address[0].length - 1)), origin: 'mention', tree: true }
    return
  }
  const option = text.startsWith('-')
  if (!option) yield* whole(text)
  const equals = text.indexOf('=')
  if (equals > 0) yield* whole(text.slice(equals + 1))
  else if (option && !text.startsWith('--') && text.length > 2) yield* whole(text.slice(2))
  if (option)
    for (let at = 3; at < Math.min(text.length, 8); at++) yield { path: text.slice(at), origin: 'part' }
  const prose = /\s/.test(text)
  for (const piece of pieces(text)) {
    if (piece === text) continue
    yield { path: decoded(piece), origin: prose ? 'prose' : 'part' }
  }
}

/** Returns what may be the path of a file or directory; for a glob that the program expands, its starting directory. */
function* whole(text: string): Generator<MentionedPath> {
  if (text === '' || text.split('/').some((segment) => segment.length > MAX_NAME)) return
  const glob = text.search(/[*?[{]/)
  if (glob < 0) yield { path: text, origin: 'mention', tree: true }
  else {
    yield { path: text, origin: 'part' }
    const start = text.slice(0, text.lastIndexOf('/', glob) + 1)
    yield { path: start === '' ? '.' : start, origin: start === '' ? 'part' : 'mention', tree: true }
  }
}

/**
 * Returns the parts between characters that commonly separate a path from other text, and the rest after each of
 * them.
 */
function pieces(text: string): Set<string> {
  const found = new Set(text.split(SEPARATORS).filter((piece) => piece !== ''))
  if (text.length <= 512) {
    for (const { index } of text.matchAll(/[:=@,]/g)) {
      const after = text.slice(index + 1)
      if (after !== '' && !/\s/.test(after)) found.add(after)
    }
  }
  return found
}

/** No file system accepts a longer name. */
const MAX_NAME = 255

const SEPARATORS = /[\s:=@,;()'"`<>|&!^?#]+/

function decoded(path: string): string {
  if (!path.includes('%')) return path
  return tryOr(() => decodeURIComponent(path), path)
}
