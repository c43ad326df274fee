import { lstatSync, readdirSync, type Stats } from 'node:fs'
import type { PathOfKind } from './bubblewrap.js'

/**
 * The files of `/proc` that a sandbox covers. The kernel allows the host's root to write to `/proc/sys` and read
 * `/proc/kpagecount` by its user ID alone, without any capability, so a sandbox of root has to cover every such file.
 */
export type KernelFiles = { readonly masked: readonly PathOfKind[]; readonly readOnly: readonly string[] }

/** Files that container runtimes mask, and files that show the host's keys. */
const alwaysMasked = new Set([
  ...['acpi', 'asound', 'interrupts', 'kcore', 'keys', 'key-users', 'kmsg', 'latency_stats', 'scsi'],
  ...['sched_debug', 'sysrq-trigger', 'timer_list', 'timer_stats', 'vmcore', 'dynamic_debug'],
])
const alwaysReadOnly = new Set(['sys', 'fs', 'irq', 'bus'])

let known: KernelFiles | undefined

export function kernelFiles(): KernelFiles {
  known ??= lookAt('/proc', process.getuid?.() === 0)
  return known
}

function lookAt(proc: string, isRoot: boolean): KernelFiles {
  const masked: PathOfKind[] = []
  const readOnly: string[] = []
  for (const name of readdirSync(proc)) {
    if (/^[0-9]+$/.test(name)) continue
    const path = `${proc}/${name}`
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat?.isDirectory() === true) {
      if (alwaysMasked.has(name)) masked.push({ kind: 'directory', path })
      else if (isRoot || alwaysReadOnly.has(name)) readOnly.push(path)
    } else if (stat?.isFile() === true && (alwaysMasked.has(name) || (isRoot && isForRootOnly(stat)))) {
      masked.push({ kind: 'file', path })
    }
  }
  return { masked, readOnly }
}

/** Whether a file is not readable for all, or writable for its owner, which is root. */
function isForRootOnly({ mode }: Stats): boolean {
  return (mode & 0o004) === 0 || (mode & 0o222) !== 0
}
