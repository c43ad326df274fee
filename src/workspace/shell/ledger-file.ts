import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { type ProcessEntry, processScope, readProcess } from './process-table.js'

const format = 'capstan-ledger-1'

export type Stub = { readonly kind: 'file' | 'directory'; readonly path: string }

/**
 * Returns the content of a placeholder file. It is empty, except where git does not accept an empty file: `commondir`
 * names the git directory itself, which has no effect.
 */
export function stubContent(path: string): string {
  return path.endsWith('/commondir') ? '.\n' : ''
}

export type LedgerContent = {
  readonly token: string
  readonly scope: string
  readonly hostname: string
  readonly host: Pick<ProcessEntry, 'pid' | 'startTime'>
  readonly groups: readonly Pick<ProcessEntry, 'pid' | 'startTime'>[]
  readonly stubs: readonly Stub[]
  /** The number in the marks of its processes. */
  readonly mark?: number | undefined
}

/** Returns undefined for a file that is not a ledger, or is not complete yet. */
export function readLedger(file: string): LedgerContent | undefined {
  const [header = '', ...lines] = readFileSync(file, 'utf8').split('\n')
  const [name, token = '', scope = '', hostname = '', pid, startTime = ''] = header.split(' ')
  if (name !== format || !/^[0-9a-f]{24}$/.test(token) || startTime === '') return undefined
  const groups: { pid: number; startTime: string }[] = []
  const stubs: Stub[] = []
  let mark: number | undefined
  for (const line of lines) {
    const group = /^group ([0-9]+) ([0-9]+)$/.exec(line)
    if (group?.[1] !== undefined && group[2] !== undefined) {
      groups.push({ pid: Number(group[1]), startTime: group[2] })
    }
    const marked = /^mark ([0-9]+)$/.exec(line)
    if (marked?.[1] !== undefined) mark = Number(marked[1])
    const stub = /^stub ([fd]) (\/.*)$/.exec(line)
    if (stub?.[2] !== undefined) stubs.push({ kind: stub[1] === 'f' ? 'file' : 'directory', path: stub[2] })
  }
  return { token, scope, hostname, host: { pid: Number(pid), startTime }, groups, stubs, mark }
}

export function headerLine(token: string): string {
  const startTime = readProcess(process.pid)?.startTime ?? '0'
  return `${format} ${token} ${processScope()} ${machineName()} ${process.pid} ${startTime}\n`
}

export function machineName(): string {
  return hostname().replaceAll(/\s/g, '-') || 'localhost'
}

export function markLine(mark: number): string {
  return `mark ${mark}\n`
}

export function groupLine(pid: number, startTime: string): string {
  return `group ${pid} ${startTime}\n`
}

export function stubLine(path: string, kind: Stub['kind']): string {
  return `stub ${kind === 'file' ? 'f' : 'd'} ${path}\n`
}
