import { pathText } from '../path-text.js'
import { withoutCredentials } from './without-credentials.js'

export type GitStatus = {
  readonly branch: string
  readonly detached: boolean
  /** Undefined before the first commit. */
  readonly commit: string | undefined
  readonly changes: readonly string[]
}

/** Parses `git status --porcelain=v2 --branch -z`. Removes the workspace's path in its repository from the paths. */
export function parseStatus(output: string, prefix = ''): GitStatus {
  const changes: string[] = []
  let branch = ''
  let commit = ''
  const records = output.split('\0').map((record) => record.replace(/^((warning|hint): .*\n)+/, ''))
  for (let at = 0; at < records.length; at += 1) {
    const record = records[at] ?? ''
    const header = /^# branch\.(oid|head) (.*)$/s.exec(record)
    if (header?.[1] === 'head') branch = header[2] ?? ''
    else if (header?.[1] === 'oid') commit = header[2] ?? ''
    const change = changeOf(record, prefix)
    if (change !== undefined) changes.push(change)
    // The old name of a renamed file is a separate record.
    if (record.startsWith('2 ')) at += 1
  }
  const detached = branch === '(detached)'
  return { branch, detached, commit: commit === '(initial)' || commit === '' ? undefined : commit, changes }
}

/** The number of fields before the path, by kind of record. */
const fieldsBefore: Readonly<Record<string, number>> = { '1': 8, '2': 9, u: 10, '?': 1 }

function changeOf(record: string, prefix: string): string | undefined {
  const before = record[1] === ' ' ? fieldsBefore[record[0] ?? ''] : undefined
  if (before === undefined) return undefined
  const parts = record.split(' ')
  const state = record.startsWith('?') ? '??' : (parts[1] ?? '')
  const path = parts.slice(before).join(' ')
  return `${state.replaceAll('.', ' ')} ${pathText(path.startsWith(prefix) ? path.slice(prefix.length) : path)}`
}

const shownChanges = 100

/** Formats a status as five lines, followed by the changes. */
export function statusText(root: string, status: GitStatus, linked: boolean): string {
  const count = status.changes.length
  const more = count - shownChanges
  return [
    `Workspace: ${root}`,
    `Branch:    ${status.detached ? 'HEAD (detached)' : status.branch}`,
    `Commit:    ${status.commit?.slice(0, 7) ?? '(no commits yet)'}`,
    `Status:    ${count === 0 ? 'clean' : `${count} uncommitted change(s)`}`,
    `Worktree:  ${linked ? 'yes (linked)' : 'no (main)'}`,
    ...(count === 0 ? [] : ['', ...status.changes.slice(0, shownChanges)]),
    ...(more > 0 ? [`... (${more} more)`] : []),
  ].join('\n')
}

/** Formats records of four fields, each ended by a NUL. */
export function logText(output: string): { readonly text: string; readonly count: number } {
  const fields = output.split('\0')
  const entries: string[] = []
  for (let at = 0; at + 3 < fields.length; at += 4) {
    const [hash = '', author = '', date = '', message = ''] = fields.slice(at, at + 4)
    entries.push(`${hash.trim()} - ${author} (${date})\n  ${message}`)
  }
  const count = entries.length
  const text =
    count === 0 ? 'No commits.' : `Commit log (${count} entries from offset 0):\n${entries.join('\n')}`
  return { text, count }
}

/** Formats a status that is followed by one full branch name per line. */
export function branchesText(output: string): { readonly text: string; readonly names: readonly string[] } {
  const end = output.lastIndexOf('\0') + 1
  const { branch, detached } = parseStatus(output.slice(0, end))
  const names = output
    .slice(end)
    .split('\n')
    .flatMap((line) => (line.startsWith('refs/heads/') ? [line.slice('refs/heads/'.length)] : []))
  if (names.length === 0) return { text: `No branches yet (on ${branch}, without a commit).`, names }
  const lines = names.map((name) => `${!detached && name === branch ? '*' : ' '} ${name}`)
  const head = detached ? ['* (detached HEAD)'] : []
  return { text: ['Branches:', ...head, ...lines].join('\n'), names }
}

export function stashesText(output: string): { readonly text: string; readonly count: number } {
  const entries = output.split('\0').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()]))
  const count = entries.length
  return {
    text: count === 0 ? 'No stashes found.' : `Stashes:\n${entries.map((each) => `  ${each}`).join('\n')}`,
    count,
  }
}

/** Parses `git remote -v`: a name, a tab, a URL, and its use (fetch or push). */
export function parseRemotes(output: string): { readonly name: string; readonly line: string }[] {
  return output.split('\n').flatMap((line) => {
    const tab = line.indexOf('\t')
    if (tab < 0) return []
    const name = line.slice(0, tab)
    return [{ name, line: `${name}\t${withoutCredentials(line.slice(tab + 1))}` }]
  })
}

/** Formats the output of `git worktree list --porcelain`. */
export function worktreesText(output: string): { readonly text: string; readonly count: number } {
  const entries = output
    .split('\n\n')
    .flatMap((entry) => (entry.includes('worktree ') ? [worktreeLine(entry.split('\n'))] : []))
  return { text: `Worktrees:\n${entries.join('\n')}`, count: entries.length }
}

function worktreeLine(lines: readonly string[]): string {
  const after = (key: string): string | undefined =>
    lines.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1)
  const branch = after('branch')?.replace('refs/heads/', '')
  const state = lines.includes('bare') ? 'bare' : (branch ?? 'detached')
  return `  ${pathText(after('worktree') ?? '')}  ${after('HEAD')?.slice(0, 7) ?? ''} [${state}]`
}
