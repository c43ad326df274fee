import { normalSegments, resolvePath } from './lexical-path.js'
import { insideRoots, type Scope, workspaceRoot } from './scope.js'
import type { CommandAnalysis, CommandUnit } from './shell/analysis.js'

/** Describes what a command would destroy; undefined when it has none of the forms that are never intended. */
export function describeDestruction(analysis: CommandAnalysis, scope: Scope): string | undefined {
  if (isForkBomb(analysis.text)) return 'it starts itself without end (a fork bomb)'
  for (const unit of analysis.units) {
    const reason = destruction(unit, scope)
    if (reason !== undefined) return reason
  }
  return undefined
}

function destruction(unit: CommandUnit, scope: Scope): string | undefined {
  const name = commandName(unit)
  const args = unit.words.slice(1).map(({ text, value }) => value ?? text)
  const targets = args.filter((arg) => !arg.startsWith('-'))
  const system = (paths: readonly string[]): string | undefined =>
    paths.find((path) => isVital(path, unit.cwd, scope))
  const device = unit.redirections.find(
    ({ mode, target }) => mode !== 'read' && isDisk(target.value ?? target.text),
  )
  if (device !== undefined) return `it overwrites the device ${device.target.text}`

  if (name === 'rm' || name === 'shred' || name === 'unlink') {
    const hit = system(targets)
    if (hit !== undefined && (name !== 'rm' || hasFlag(args, 'r', 'R', 'recursive')))
      return `it removes ${hit} and everything below`
    if (args.includes('--no-preserve-root')) return 'it lifts the protection of the root directory'
  }
  if (
    name === 'find' &&
    args.some((arg) => arg === '-delete' || (/^-(exec|ok)(dir)?$/.test(arg) && args.includes('rm')))
  ) {
    const starts = args.slice(
      0,
      args.findIndex((arg) => arg.startsWith('-')),
    )
    const hit = system(starts)
    if (hit !== undefined) return `it removes what it finds below ${hit}`
  }
  if (name === 'chmod' || name === 'chown' || name === 'chgrp') {
    const hit = system(targets.slice(1))
    if (hit !== undefined && hasFlag(args, 'R', 'recursive'))
      return `it changes the permissions of everything below ${hit}`
  }
  if (name === 'mv') {
    const hit = system(targets.slice(0, -1))
    if (hit !== undefined) return `it moves ${hit} away`
  }
  if (name === 'dd' || name === 'tee' || name === 'cp' || name === 'truncate') {
    const hit = args.map((arg) => arg.replace(/^of=/, '')).find(isDisk)
    if (hit !== undefined && (name !== 'dd' || args.includes(`of=${hit}`)))
      return `it overwrites the device ${hit}`
  }
  if (/^mkfs(\.|$)|^(mke2fs|mkswap|wipefs|blkdiscard|sgdisk|sfdisk|fdisk|parted)$/.test(name))
    return `${name} formats or repartitions a disk`
  if (/^(shutdown|reboot|halt|poweroff)$/.test(name)) return 'it stops the machine'
  if (name === 'kill' && args.length > 1 && args.at(-1) === '-1') return 'it ends every process'
  return undefined
}

/** Returns the name without its directory; a name that is not static is compared as it is written. */
export function commandName({ words }: CommandUnit): string {
  const name = words[0]?.value ?? words[0]?.text ?? ''
  return name.slice(name.lastIndexOf('/') + 1).toLowerCase()
}

function hasFlag(args: readonly string[], ...names: readonly string[]): boolean {
  return args.some((arg) =>
    arg.startsWith('--')
      ? names.some((name) => name.length > 1 && arg.length > 3 && name.startsWith(arg.slice(2)))
      : arg.startsWith('-') && names.some((name) => name.length === 1 && arg.includes(name)),
  )
}

/**
 * Returns whether a system or user depends on a directory: the root, its direct children, everything in system
 * directories, and home directories. Files of the workspace never count, wherever it is.
 */
function isVital(text: string, cwd: string | undefined, scope: Scope): boolean {
  const spelled = text
    .replaceAll(/["']/g, '')
    .replace(/^\$\{?HOME\}?(?=\/|$)/, '~')
    .replace(/(\/\*+|\/\.\*)$/, '')
  const bare = spelled === '' ? '/' : spelled
  if (bare === '*' && cwd === undefined) return false
  if (bare === '~' || /^~[\w-]*$/.test(bare)) return true
  const start = resolvePath(cwd ?? '.', { cwd: workspaceRoot(scope), home: scope.home })
  const path = resolvePath(bare.replace(/\*$/, ''), { cwd: start, home: scope.home })
  const segments = normalSegments(path)
  if (segments.length === 0) return true
  if (scope.home !== undefined && isAncestor(path, resolvePath(scope.home, { cwd: '/' }))) return true
  if (insideRoots(scope).some((root) => isAncestor(resolvePath(root, { cwd: '/' }), path))) return false
  const [top = ''] = segments
  if (systemDirectories.has(top)) return true
  if (top === 'home' || top === 'Users') return segments.length <= 2
  return segments.length === 1 && top !== 'tmp'
}

function isAncestor(above: string, path: string): boolean {
  return above === path || above === '/' || path.startsWith(`${above}/`)
}

const systemDirectories = new Set([
  'bin',
  'boot',
  'dev',
  'etc',
  'lib',
  'lib32',
  'lib64',
  'proc',
  'root',
  'sbin',
  'sys',
  'usr',
  'System',
  'Library',
  'Applications',
])

function isDisk(path: string): boolean {
  return /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper\/|dm-|loop|mem|kmem|port)/.test(path)
}

/** `:(){ :|:& };:` with any name. */
function isForkBomb(text: string): boolean {
  const plain = text.slice(0, 4096).replace(/\s+/g, '')
  const start = /([\w:.]{1,32})\(\)\{/.exec(plain)
  if (start === null) return false
  const name = start[1] ?? ''
  return plain.includes(`${name}|${name}&`)
}
