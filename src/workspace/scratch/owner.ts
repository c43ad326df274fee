import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { linkIfReadable, textIfReadable } from '../if-readable.js'

/**
 * Which process owns a scratch directory, as far as others can tell later whether it still lives. It is part of the
 * directory's name: made in one step with it, and not accessible to programs that work inside.
 */
export type Owner = {
  /** Machine and user. */
  readonly host: string
  readonly boot: string
  /** The namespace that the process id counts in: containers on one machine use the same ids again. */
  readonly namespace: string
  readonly pid: number
  /** When the process began, in clock ticks since boot; `x` where the system does not tell. Ids are used again. */
  readonly started: string
}

export function thisProcess(): Owner {
  return {
    host: short(
      `${(textIfReadable('/etc/machine-id') ?? '').trim()}|${hostname()}|${process.getuid?.() ?? ''}`,
    ),
    boot: short((textIfReadable('/proc/sys/kernel/random/boot_id') ?? '').trim()),
    namespace: namespaceOf(),
    pid: process.pid,
    started: startOf(process.pid) ?? 'x',
  }
}

export function directoryName(owner: Owner, secret: string): string {
  return ['s', owner.host, owner.boot, owner.namespace, owner.pid, owner.started, secret].join('-')
}

export function ownerOf(name: string): Owner | undefined {
  const parts = /^s-([0-9a-f]{8})-([0-9a-f]{8})-(\w+)-(\d+)-(\w+)-[0-9a-f]{32}$/.exec(name)
  if (parts === null) return undefined
  const [, host = '', boot = '', namespace = '', pid = '', started = ''] = parts
  return { host, boot, namespace, pid: Number(pid), started }
}

/**
 * Whether the owner is surely gone, seen from this process. In doubt it lives: leaving a directory costs space, taking
 * one that is in use costs a user's work.
 */
export function isGone(owner: Owner, self: Owner): boolean {
  if (owner.host !== self.host) return false
  // Another boot of this machine: nothing of it can run any more. (Boots are distinguished on Linux only.)
  if (owner.boot !== self.boot) return true
  if (owner.namespace !== self.namespace) return false
  if (!isAlive(owner.pid)) return true
  const started = startOf(owner.pid)
  return started !== undefined && owner.started !== 'x' && started !== owner.started
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return !(thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH')
  }
}

/** Field 22 of `/proc/<pid>/stat`. The command's name before it is in brackets and may hold anything, brackets too. */
function startOf(pid: number): string | undefined {
  const text = textIfReadable(`/proc/${pid}/stat`) ?? ''
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19]
}

function namespaceOf(): string {
  return /\d+/.exec(linkIfReadable('/proc/self/ns/pid') ?? '')?.[0] ?? 'x'
}

function short(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}
