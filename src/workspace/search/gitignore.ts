import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { tryOr } from '../../tool/errors.js'
import { compilePositive } from './glob-pattern.js'

export type Rule = {
  readonly keeps: boolean
  readonly onlyDirectories: boolean
  readonly matches: (path: string) => boolean
}
type Scope = {
  readonly directory: string
  readonly rules: readonly Rule[]
  readonly parent: Scope | undefined
}

export type IgnoreTree = {
  /** Whether the entry `name` of a directory is ignored by the rules there and above. */
  ignores(directory: string, name: string, isDirectory: boolean): boolean
}

/**
 * Reads the .gitignore files from `top` downwards, each when first needed. The rules are those of git: the last
 * matching rule of a file applies, a deeper file takes precedence over a higher one, and a file inside an ignored
 * directory cannot be included again (a walk does not enter the directory).
 *
 * Inside a repository (`repository: true`) the rules above a nested repository do not apply to it. Outside of any
 * repository, rules still apply.
 */
export function createIgnoreTree(
  top: string,
  { repository }: { readonly repository: boolean },
  disk: IgnoreSource = onDisk,
): IgnoreTree {
  const scopes = new Map<string, Scope>()
  const scopeOf = (directory: string): Scope => {
    const known = scopes.get(directory)
    if (known !== undefined) return known
    const starts = directory === top || (repository && disk.isRepository(directory))
    const scope: Scope = {
      directory,
      rules: disk.rulesIn(directory),
      parent: starts ? undefined : scopeOf(parentOf(directory)),
    }
    scopes.set(directory, scope)
    return scope
  }
  return {
    ignores(directory, name, isDirectory) {
      const path = `${withSlash(directory)}${name}`
      for (let scope: Scope | undefined = scopeOf(directory); scope !== undefined; scope = scope.parent) {
        const rule = lastFitting(scope.rules, path.slice(withSlash(scope.directory).length), isDirectory)
        if (rule !== undefined) return !rule.keeps
      }
      return false
    },
  }
}

/** The source of ignore rules. */
export type IgnoreSource = {
  rulesIn(directory: string): readonly Rule[]
  /** Whether the directory is the root of a repository. */
  isRepository(directory: string): boolean
}

const onDisk: IgnoreSource = {
  rulesIn,
  isRepository: (directory) => existsSync(join(directory, '.git')),
}

/**
 * Parses the rules of one .gitignore text. Braces are alternatives, as in ripgrep (git has none). Invalid rules are
 * omitted.
 */
export function parseIgnoreRules(text: string): Rule[] {
  return text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .flatMap((line) => parseRule(line.endsWith('\r') ? line.slice(0, -1) : line))
}

function parseRule(source: string): Rule[] {
  if (source.startsWith('#')) return []
  let pattern = source.endsWith('\\ ') ? source : source.trimEnd()
  const keeps = pattern.startsWith('!')
  if (keeps) pattern = pattern.slice(1)
  const onlyDirectories = pattern.endsWith('/')
  if (onlyDirectories) pattern = pattern.slice(0, -1)
  if (pattern === '') return []
  return tryOr(() => [{ keeps, onlyDirectories, matches: compilePositive(pattern).matches }], [])
}

function rulesIn(directory: string): Rule[] {
  const path = join(directory, '.gitignore')
  try {
    const stat = statSync(path)
    return stat.isFile() && stat.size < 1_000_000 ? parseIgnoreRules(readFileSync(path, 'utf8')) : []
  } catch {
    return []
  }
}

function lastFitting(rules: readonly Rule[], path: string, isDirectory: boolean): Rule | undefined {
  for (let index = rules.length - 1; index >= 0; index -= 1) {
    const rule = rules[index]
    if (rule !== undefined && (isDirectory || !rule.onlyDirectories) && rule.matches(path)) return rule
  }
  return undefined
}

function parentOf(directory: string): string {
  return directory.slice(0, Math.max(1, directory.lastIndexOf('/')))
}

function withSlash(directory: string): string {
  return directory === '/' ? '/' : `${directory}/`
}
