import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A file that was really opened: relative to the directory of its case. */
export type OpenedFile = { readonly case: number; readonly path: string; readonly writes: boolean }

const strace = '/usr/bin/strace'
let usable: boolean | undefined

/** Whether system calls can be traced here: a container may have the program and not the right. */
export function canTrace(): boolean {
  usable ??= existsSync(strace) && spawnSync(strace, ['-qq', '-o', '/dev/null', '/bin/true']).status === 0
  return usable
}

/** The command that runs another one and writes down every file that it and its children open. */
export function traced(log: string, argv: readonly [string, ...string[]]): [string, ...string[]] {
  if (!canTrace()) return [...argv]
  const calls = 'trace=openat,open,creat,openat2'
  return [strace, '-f', '-qq', '--seccomp-bpf', '-y', '-e', calls, '-e', 'signal=none', '-o', log, ...argv]
}

/** The files below the directories `c0`, `c1`, … that a traced command opened. */
export async function readTrace(log: string, root: string): Promise<OpenedFile[]> {
  const text = await readFile(log, 'utf8').catch(() => '')
  const begun = new Map<string, string>()
  const found = new Map<string, OpenedFile>()
  for (const line of text.split('\n')) {
    const pid = /^\d+/.exec(line)?.[0] ?? ''
    if (line.endsWith('<unfinished ...>')) {
      begun.set(pid, line)
      continue
    }
    const whole = line.includes(' resumed>') ? `${begun.get(pid) ?? ''}${line}` : line
    const opened = /= \d+<(.*)>$/.exec(whole)?.[1]?.replace(/ \(deleted\)$/, '')
    const place = opened?.startsWith(`${root}/c`)
      ? /^c(\d+)\/(.+)$/s.exec(opened.slice(root.length + 1))
      : undefined
    // A directory is opened to be listed or locked; only its files are of interest.
    if (!place || /O_DIRECTORY|O_PATH/.test(whole)) continue
    const file = {
      case: Number(place[1]),
      path: place[2] ?? '',
      writes: /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|\bcreat\(/.test(whole),
    }
    found.set(JSON.stringify(file), file)
  }
  return [...found.values()]
}

/** Without a tracer: the files of a case that are new or have another content. What was only read leaves no trace. */
export async function changedFiles(
  id: number,
  directory: string,
  given: Readonly<Record<string, string>>,
): Promise<OpenedFile[]> {
  const found: OpenedFile[] = []
  const visit = async (at: string, prefix: string): Promise<void> => {
    for (const entry of await readdir(at, { withFileTypes: true }).catch(() => [])) {
      const path = `${prefix}${entry.name}`
      if (entry.isDirectory()) await visit(join(at, entry.name), `${path}/`)
      else if ((await readFile(join(at, entry.name), 'utf8').catch(() => '')) !== given[path])
        found.push({ case: id, path, writes: true })
    }
  }
  await visit(directory, '')
  return found
}
