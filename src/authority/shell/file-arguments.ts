import type { Word } from './analysis.js'
import { commandName, commandTable, ownArguments } from './command-table.js'
import type { CommandTable } from './hazard-table.js'
import { GIT_GLOBAL, GIT_SUBCOMMANDS } from './hazard-table-git.js'
import { namedFile } from './named-file.js'
import { type ParsedOptions, parseOptions } from './option-table.js'

export type FileArgument = {
  readonly fs: 'read' | 'write'
  readonly path: string
  /** The command opens it only if its directory exists. */
  readonly ifDirectory?: true
}

/** Returns the files that the arguments of a well-known command name. */
export function fileArguments(words: readonly Word[]): FileArgument[] {
  const [first, ...args] = words
  const name = commandName(first)
  if (name === undefined) return []
  const table = commandTable(name)
  if (table)
    return [
      ...new Map(tableFiles(name, table, args).map((file) => [`${file.fs} ${file.path}`, file])).values(),
    ]
  return Object.hasOwn(OTHERS, name) ? (OTHERS[name]?.(args) ?? []) : []
}

const read = (word: Word | undefined): FileArgument[] => file('read', word)
const write = (word: Word | undefined): FileArgument[] => file('write', word)

function file(fs: 'read' | 'write', word: Word | undefined): FileArgument[] {
  const path = word && namedFile(word)
  return path === undefined || path === '-' ? [] : [{ fs, path }]
}

/** Commands whose arguments are not described by a table. */
const OTHERS: Readonly<Record<string, (args: readonly Word[]) => FileArgument[]>> = {
  cd: directory,
  pushd: directory,
  source: (args) => read(args[0]),
  '.': (args) => read(args[0]),
  find: (args) => roots(args),
  fd: (args) => args.slice(1).flatMap((word) => (word.value?.startsWith('-') ? [] : read(word))),
  bash: scriptFile,
  sh: scriptFile,
  zsh: scriptFile,
  dash: scriptFile,
  test: testedFiles,
  '[': testedFiles,
  dd: (args) =>
    args.flatMap(({ text, value = text }) => {
      const operand = /^(if|of)=(.+)$/.exec(value)
      const path = operand?.[2] ?? ''
      return operand ? file(operand[1] === 'if' ? 'read' : 'write', { text: path, value: path }) : []
    }),
  git: gitFiles,
}

function directory(args: readonly Word[]): FileArgument[] {
  return args.flatMap((word) => (/^[-+]/.test(word.value ?? '') ? [] : read(word)))
}

function scriptFile(args: readonly Word[]): FileArgument[] {
  const [first] = args
  return first?.value?.startsWith('-') ? [] : read(first)
}

function testedFiles(args: readonly Word[]): FileArgument[] {
  return args.flatMap((word, at) =>
    /^-[a-hkprstuwxGLNOS]$/.test(args[at - 1]?.value ?? '') ? read(word) : [],
  )
}

function roots(args: readonly Word[]): FileArgument[] {
  const start = args.findIndex((word) => !/^-([HLP]|O\d)$/.test(word.value ?? ''))
  const rest = start < 0 ? [] : args.slice(start)
  const end = rest.findIndex((word) => word.value !== undefined && /^([-(!)]|,$)/.test(word.value))
  const places = end < 0 ? rest : rest.slice(0, end)
  const written = rest.flatMap((word, at) =>
    /^-f(print0?|printf|ls)$/.test(rest[at - 1]?.value ?? '') ? write(word) : [],
  )
  return [...(places.length > 0 ? places.flatMap(read) : [{ fs: 'read' as const, path: '.' }]), ...written]
}

/** Returns only files outside of the repository; git manages the rest. */
function gitFiles(args: readonly Word[]): FileArgument[] {
  const files = args.flatMap(({ value, text }, at) => {
    const attached = /^--(?:git-dir|work-tree|exec-path)=(.+)$/.exec(value ?? '')?.[1]
    if (attached !== undefined) return read({ text, value: attached })
    return /^(-C|--git-dir|--work-tree)$/.test(args[at - 1]?.value ?? '') ? read({ text, value }) : []
  })
  const [subcommand, ...rest] = parseOptions(GIT_GLOBAL, args).operands
  const name = subcommand?.value ?? ''
  const table = Object.hasOwn(GIT_SUBCOMMANDS, name) ? GIT_SUBCOMMANDS[name] : undefined
  const { options, operands } = table ? parseOptions(table, rest) : { options: [], operands: rest }
  const [first, second] = operands
  files.push(...options.flatMap(({ file: use, value }) => (use ? file(use, value) : [])))
  if (name === 'clone') files.push(...write(second))
  if (name === 'init') files.push(...write(first))
  if (name === 'worktree' && first?.value === 'add') files.push(...write(second))
  if (name === 'diff') files.push(...comparedFiles(rest, operands))
  return files
}

/** Outside of a repository, or with a file outside, `git diff` compares any two files without `--no-index`. */
function comparedFiles(args: readonly Word[], operands: readonly Word[]): FileArgument[] {
  const any = args.some((word) => word.value === '--no-index')
  return operands
    .filter(({ value }) => any || /^(\/|~|\.\.(\/|$))|\/\.\.(\/|$)/.test(value ?? ''))
    .flatMap(read)
}

function tableFiles(name: string, table: CommandTable, args: readonly Word[]): FileArgument[] {
  const parsed = parseOptions(table, ownArguments(name, args))
  const fromOptions = parsed.options.flatMap(({ file: use, value }) => (use ? file(use, value) : []))
  return [...fromOptions, ...operandFiles(name, table, parsed)]
}

function operandFiles(name: string, table: CommandTable, parsed: ParsedOptions): FileArgument[] {
  const { operands } = parsed
  const has = (option: RegExp): boolean => parsed.options.some((found) => option.test(found.name))
  switch (table.operands) {
    case 'read':
      return operands.length === 0 && /^(ls|dir|vdir|du|tree)$/.test(name)
        ? [{ fs: 'read', path: '.' }]
        : operands.flatMap(read)
    case 'write':
      return operands.flatMap(write)
    case 'one-read':
      return [...read(operands[0]), ...(/^(uniq|xxd)$/.test(name) ? write(operands[1]) : [])]
    case 'move':
      return [...operands.flatMap(read), ...operands.flatMap(write)]
    case 'mode':
      return operands.slice(has(/^--reference$/) ? 0 : 1).flatMap(write)
    case 'pattern':
      return patternFiles(
        name,
        operands,
        has(/^(-e|-f|--regexp|--file|--files)$/),
        has(/^(-r|-R|--recursive|--dereference-recursive)$/),
      )
    case 'script': {
      const files = operands.slice(has(/^(-e|-f|--expression|--file)$/) ? 0 : 1)
      return [...files.flatMap(read), ...(has(/^(-i|--in-place)$/) ? files.flatMap(write) : [])]
    }
    case 'copy':
      return copiedFiles(
        operands.filter((word) => !isRemote(name, word)),
        parsed.options.find((option) => /^(-t|--target-directory)$/.test(option.name))?.value,
        operands.at(-1),
      )
    case 'archive':
      return archiveFiles(parsed)
    default:
      return []
  }
}

function patternFiles(
  name: string,
  operands: readonly Word[],
  patternGiven: boolean,
  recursive: boolean,
): FileArgument[] {
  const files = operands.slice(patternGiven ? 0 : 1)
  const searchesHere = files.length === 0 && (name === 'rg' || recursive)
  return searchesHere ? [{ fs: 'read', path: '.' }] : files.flatMap(read)
}

/** Each file is copied into a directory under its own name, and an existing entry with that name may be a link. */
function copiedFiles(local: readonly Word[], into: Word | undefined, last: Word | undefined): FileArgument[] {
  // A target on another machine has no directory here.
  const target = into ?? local.find((word) => word === last)
  const named = local.flatMap((word) => (word === last && into === undefined ? write(word) : read(word)))
  const inside = local.flatMap(({ value }) => {
    const name = value === undefined || value === target?.value ? undefined : baseName(value)
    if (name === undefined || target?.value === undefined) return []
    const path = `${target.value.replace(/\/+$/, '')}/${name}`
    return write({ text: path, value: path }).map((file) => ({ ...file, ifDirectory: true as const }))
  })
  return [...named, ...inside]
}

function baseName(path: string): string | undefined {
  const name = path.replace(/\/+$/, '').split('/').at(-1)
  return name === '' || name === '.' || name === '..' ? undefined : name
}

function isRemote(name: string, word: Word): boolean {
  return (name === 'scp' || name === 'rsync') && /^[^/]+:/.test(word.value ?? '')
}

function archiveFiles({ options, operands }: ParsedOptions): FileArgument[] {
  const has = (option: RegExp): boolean => options.some((found) => option.test(found.name))
  const creates = has(/^(-c|-r|-u|-A|--create|--append|--update)$/)
  const extracts = has(/^(-x|--extract|--get)$/)
  const archives = options.flatMap(({ name, value }) => (/^(-f|--file)$/.test(name) && value ? [value] : []))
  return [
    ...archives.flatMap(creates ? write : read),
    ...(creates ? operands.flatMap(read) : []),
    ...(extracts && !has(/^(-O|--to-stdout|-C|--directory)$/) ? [{ fs: 'write' as const, path: '.' }] : []),
  ]
}
