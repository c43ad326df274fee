import type { ExpandedCall } from './call.js'
import { compilePathPattern, matchesPath, type PathPattern } from './path-pattern.js'
import type { Rule } from './rule.js'
import type { Scope } from './scope.js'

/** A pattern and the reason for it. */
type Reasoned = readonly [pattern: string, reason: string]

const askedFor: readonly Reasoned[] = [
  ['**/.git/**', 'git runs what its hooks, configuration and attributes name'],
  ['**/.husky/**', 'git hooks that run on every commit'],
  ['**/.envrc', 'direnv runs it when the directory is entered'],
  ['**/.npmrc', 'it decides where packages come from and which scripts run'],
  ['**/{.yarnrc,.yarnrc.yml}', 'every yarn command runs the programs that it names'],
  ['**/.vscode/**', 'its tasks and settings can run commands'],
  ['**/.idea/**', 'its run configurations can run commands'],
  ['**/{.agent,.agents}/**', 'later sessions load their agents and skills from it'],
  [
    '**/{.claude,.codex,.cursor,.gemini}/**',
    'coding agents take their hooks, servers and permissions from it',
  ],
]

const noted: readonly Reasoned[] = [
  ['**/package.json', 'its scripts run on install, test and build'],
  ['**/.gitattributes', 'it can name filters that git runs'],
  ['**/.gitmodules', 'it names repositories that git will fetch'],
  ['**/{Makefile,GNUmakefile,*.mk}', 'its recipes run on build'],
  ['**/{.bashrc,.bash_profile,.profile,.zshrc,.zprofile}', 'a shell runs it at start'],
  ['**/.github/workflows/**', 'it runs on the build server, with its secrets'],
  ['**/.pnpmfile.{cjs,mjs}', 'pnpm runs it on every install'],
  ['**/{.devcontainer/**,.devcontainer.json}', 'its commands run when the container is opened'],
]

/**
 * Files that are executed automatically or decide what can run. Compared loosely, because `.GIT/hooks` and
 * `.git./hooks` open the same file on many volumes. The patterns also cover files that do not exist yet (SEC-015 to
 * SEC-021).
 */
export const protectedFileRules: readonly Rule[] = [
  ...['**/.capstan/**', '**/.mcp.json'].map(
    (pattern): Rule => ({
      ...write(pattern),
      action: 'deny',
      reason: 'an agent must not change the rules and configuration it runs under',
    }),
  ),
  ...askedFor.map(([pattern, reason]): Rule => ({ ...write(pattern), action: 'ask', reason })),
]

/** Returns what a user should know before approving the writes of a call: ordinary files that can run commands. */
export function approvalNotes({ subjects, scope }: ExpandedCall): string[] {
  const notes = new Set<string>()
  for (const subject of subjects) {
    if (subject.kind !== 'path' || subject.fs !== 'write') continue
    for (const { pattern, note } of notedPatterns(scope)) {
      if (matchesPath(pattern, subject.path)) notes.add(`${subject.path.path}: ${note}`)
    }
  }
  return [...notes]
}

type NotedPattern = { readonly pattern: PathPattern; readonly note: string }

/** The patterns of each scope, compiled when a write in it is first asked about. */
const compiledNotes = new WeakMap<Scope, readonly NotedPattern[]>()

function notedPatterns(scope: Scope): readonly NotedPattern[] {
  const known = compiledNotes.get(scope)
  if (known !== undefined) return known
  const made = noted.map(([pattern, note]) => ({
    pattern: compilePathPattern(pattern, { scope, use: 'restrict', loose: true }),
    note,
  }))
  compiledNotes.set(scope, made)
  return made
}

function write(pattern: string): Pick<Rule, 'permission' | 'pattern' | 'source' | 'pinned' | 'loose'> {
  return { permission: 'fs.write', pattern, source: 'manifest', pinned: true, loose: true }
}
