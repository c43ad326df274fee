import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/** A file that was really opened, made, moved or removed: relative to the directory of its case. */
export type OpenedFile = { readonly case: number; readonly path: string; readonly writes: boolean }
/** A program that was really started, by its name in the `PATH` of its case. */
export type StartedProgram = { readonly case: number; readonly name: string }
export type Trace = { readonly files: readonly OpenedFile[]; readonly programs: readonly StartedProgram[] }

const strace = '/usr/bin/strace'
let usable: boolean | undefined

/** Whether system calls can be traced here: a container may have the program and not the right. */
export function canTrace(): boolean {
  usable ??= existsSync(strace) && spawnSync(strace, ['-qq', '-o', '/dev/null', '/bin/true']).status === 0
  return usable
}

/** The calls that open files, make, move or remove names, or start programs. */
const calls = [
  ...[
    'openat',
    'open',
    'creat',
    'openat2',
    'execve',
    'execveat',
    'rename',
    'renameat',
    'renameat2',
    'unlink',
    'unlinkat',
  ],
  ...['link', 'linkat', 'symlink', 'symlinkat', 'mkdir', 'mkdirat', 'mknod', 'mknodat', 'rmdir', 'truncate'],
]

/**
 * The command that runs another one and records every file that it and its children open or change, and every program
 * they start.
 */
export function traced(log: string, argv: readonly [string, ...string[]]): [string, ...string[]] {
  if (!canTrace()) return [...argv]
  // Some calls exist on some processors only: `?` lets strace ignore an unknown one.
  const traces = `trace=${calls.map((name) => `?${name}`).join(',')}`
  return [
    strace,
    '-f',
    '-qq',
    '--seccomp-bpf',
    '-y',
    '-s',
    '4096',
    '-e',
    traces,
    '-e',
    'signal=none',
    '-o',
    log,
    ...argv,
  ]
}

/**
 * What happened below the directories `c0`, `c1`, … and what was started from the directories `p0`, `p1`, … of a root.
 */
export async function readTrace(log: string, root: string): Promise<Trace> {
  const text = await readFile(log, 'utf8').catch(() => '')
  const begun = new Map<string, string>()
  const directories = new Map<string, string>()
  const files = new Map<string, OpenedFile>()
  const programs = new Map<string, StartedProgram>()
  for (const line of text.split('\n')) {
    const pid = /^\d+/.exec(line)?.[0] ?? ''
    if (line.endsWith('<unfinished ...>')) {
      begun.set(pid, line)
      continue
    }
    const whole = line.includes(' resumed>') ? `${begun.get(pid) ?? ''}${line}` : line
    const current = /AT_FDCWD<([^>]*)>/.exec(whole)?.[1]
    if (current !== undefined) directories.set(pid, current)
    if (/^\d+ +execve/.test(whole)) {
      const place = whole.endsWith(' = 0')
        ? below(root, 'p', /execve(?:at)?\([^"]*"([^"]*)"/.exec(whole)?.[1])
        : undefined
      if (place !== undefined) programs.set(JSON.stringify(place), { case: place.case, name: place.path })
      continue
    }
    for (const { path, writes } of whole.endsWith(' = 0')
      ? changedNames(whole, directories.get(pid) ?? '/')
      : openedFile(whole)) {
      const place = below(root, 'c', path)
      if (place !== undefined) files.set(JSON.stringify([place, writes]), { ...place, writes })
    }
  }
  return { files: [...files.values()], programs: [...programs.values()] }
}

type Touched = { readonly path: string; readonly writes: boolean }

function openedFile(line: string): Touched[] {
  const path = /= \d+<(.*)>$/.exec(line)?.[1]?.replace(/ \(deleted\)$/, '')
  // A directory is opened to be listed or locked; only its files are of interest.
  if (path === undefined || /O_DIRECTORY|O_PATH/.test(line)) return []
  return [{ path, writes: /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|\bcreat\(/.test(line) }]
}

/**
 * The names that a call makes, moves, changes or removes. Of a link only the new name: what it leads to stays as it is.
 */
function changedNames(line: string, current: string): Touched[] {
  const [, call = '', rest = ''] = /^\d+ +(\w+)\((.*)\) += 0$/.exec(line) ?? []
  const paths = Array.from(
    rest.matchAll(/(?:<([^>]*)>, )?"((?:[^"\\]|\\.)*)"/g),
    ([, directory = current, name = '']) => resolve(directory, name),
  )
  const changed = /link/.test(call) && !call.startsWith('unlink') ? paths.slice(1) : paths
  return changed.map((path) => ({ path, writes: true }))
}

/** `ROOT/c12/d1/x` as case 12 and `d1/x`. */
function below(
  root: string,
  kind: 'c' | 'p',
  path: string | undefined,
): { case: number; path: string } | undefined {
  const place = path?.startsWith(`${root}/${kind}`)
    ? /^.(\d+)\/(.+)$/s.exec(path.slice(root.length + 1))
    : undefined
  return place ? { case: Number(place[1]), path: place[2] ?? '' } : undefined
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
