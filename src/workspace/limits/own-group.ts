import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ifReadable, textIfReadable } from '../if-readable.js'
import { readProcess } from '../shell/process-table.js'
import { type GroupPlace, ownUnifiedGroup } from './group-places.js'

/**
 * Prepares a group that was delegated to this host (a service with `Delegate=yes`, the root group of a container) for
 * limited groups below it. In version 2 a group with processes cannot have any, so the processes of the host are moved
 * into a separate group. Undefined if other processes are in the group, or if it cannot be changed.
 */
export function splitOwnGroup(own: string | undefined = ownUnifiedGroup()): GroupPlace | undefined {
  if (own === undefined) return undefined
  const available = textIfReadable(join(own, 'cgroup.controllers'))?.trim().split(' ') ?? []
  // The root group of the machine has no type: only the administrator divides it.
  const isDivisible = textIfReadable(join(own, 'cgroup.type'))?.trim() === 'domain'
  if (!isDivisible || !available.includes('memory') || !available.includes('pids')) return undefined
  const members = pidsIn(own)
  if (members.length === 0 || !members.every(isOwn)) return undefined
  const part = join(own, 'capstan-host')
  const moveAll = (from: string, to: string): void => {
    for (const pid of pidsIn(from)) writeFileSync(join(to, 'cgroup.procs'), String(pid))
  }
  try {
    mkdirSync(part, { recursive: true })
    moveAll(own, part)
    writeFileSync(join(own, 'cgroup.subtree_control'), '+memory +pids')
    return { version: 2, directory: own, resources: ['memory', 'processes', 'cpu'] }
  } catch {
    ifReadable(() => moveAll(part, own))
    ifReadable(() => rmdirSync(part))
    return undefined
  }
}

function pidsIn(group: string): number[] {
  const text = textIfReadable(join(group, 'cgroup.procs')) ?? ''
  // 0: a process of another namespace, which does not belong to this host.
  return text.split('\n').flatMap((line) => (line === '' ? [] : [Number(line)]))
}

/** Whether a process is this host or was started by it. */
function isOwn(pid: number): boolean {
  for (let each: number | undefined = pid; each !== undefined && each > 0; each = readProcess(each)?.ppid)
    if (each === process.pid) return true
  return false
}
