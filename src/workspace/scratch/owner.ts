import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { linkIfReadable, textIfReadable } from '../if-readable.js'

/**
 * The process that owns a scratch directory, described so that others can determine later whether it still runs. It is
 * part of the directory's name: created in one step with it, and not accessible to programs that work inside.
 */
export type Owner = {
  /** Machine and user. */
  readonly host: string
  readonly boot: string
  /** The namespace of the process ID: containers on one machine use the same IDs. */
  readonly namespace: string
  readonly pid: number
  /** The start time of the process, in clock ticks since boot; `x` if the system does not report it. IDs are reused. */
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
 * Whether the owner has certainly ended, seen from this process. In doubt it counts as running: a leftover directory
 * costs space, removing one that is in use costs a user's work.
 */
export function isGone(owner: Owner, self: Owner): boolean {
  if (owner.host !== self.host) return false
  // From another boot of this machine: none of its processes can still run. (Boots are distinguished on Linux only.)
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

/** Returns field 22 of `/proc/<pid>/stat`. The command name before it can contain any text, including brackets. */
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
