import { dirname, join } from 'node:path'
import { namesIfReadable } from '../if-readable.js'
import { gitEntry, pointedTo, readSmall } from './git-directory.js'
import { gitlinksOf } from './gitlinks.js'
import type { ScanResult } from './repository-scan.js'
import { harmfulSetting, harmlessConfig } from './safe-config.js'

const deepest = 8

/** Returns the git directories whose configuration git could read here: its own, and those of nested repositories. */
export function guardedDirectories(cwd: string, found: ScanResult): string[] {
  const directories = new Set<string>()
  const add = (directory: string | undefined, depth: number): void => {
    if (directory === undefined || directories.has(directory) || depth > deepest) return
    directories.add(directory)
    add(pointedTo(join(directory, 'commondir'), /^(.+)\n?$/), depth)
    for (const module of modulesIn(join(directory, 'modules'), depth)) add(module, depth + 1)
  }
  const enter = (place: string, depth: number): void => {
    const own = gitEntry(place)?.gitDirectory
    add(own, depth)
    if (own === undefined || depth > deepest) return
    for (const path of gitlinksOf(join(own, 'index'))) enter(join(place, path), depth + 1)
  }
  for (let at = cwd; ; at = dirname(at)) {
    if (gitEntry(at) !== undefined) enter(at, 0)
    if (at === dirname(at)) break
  }
  for (const { kind, directory } of found.repositories) {
    if (kind === 'bare') add(directory, 0)
    else add(gitEntry(directory)?.gitDirectory, 0)
  }
  return [...directories]
}

/** A configuration file, and the text that git reads in its place. */
export type ReplacedConfig = { readonly path: string; readonly text: string }

/** Returns the configuration files of git directories, each reduced to the settings that are known to be harmless. */
export function replacedConfigs(directories: readonly string[]): ReplacedConfig[] {
  const own = directories.flatMap((directory) => [
    join(directory, 'config'),
    join(directory, 'config.worktree'),
  ])
  const ofWorktrees = directories.flatMap((directory) =>
    namesIfReadable(join(directory, 'worktrees')).map((name) =>
      join(directory, 'worktrees', name, 'config.worktree'),
    ),
  )
  const replaced = (path: string): ReplacedConfig[] => {
    const text = readSmall(path)
    return text === undefined ? [] : [{ path, text: harmlessConfig(text) }]
  }
  // A mount would prevent `git worktree remove` from removing the file, so a harmless file is not replaced.
  return [...new Set([...own, ...ofWorktrees])].flatMap((path) =>
    isOfWorktree(path) && harmfulSetting(readSmall(path) ?? '') === undefined ? [] : replaced(path),
  )
}

function isOfWorktree(path: string): boolean {
  return /\/worktrees\/[^/]+\/config\.worktree$/.test(path)
}

/** Returns the first setting of a nested repository that could make git start a program there, with its file. */
export function harmfulNested(cwd: string, found: ScanResult): string | undefined {
  const own = ownDirectories(cwd)
  for (const directory of guardedDirectories(cwd, found)) {
    // Other worktrees of this repository are covered by the replaced configuration.
    if (own.includes(directory) || own.some((one) => dirname(directory) === join(one, 'worktrees'))) continue
    for (const name of ['config', 'config.worktree']) {
      const path = join(directory, name)
      const text = readSmall(path)
      const setting = text === undefined ? undefined : harmfulSetting(text, isPlaceOfFiles)
      if (setting !== undefined) return `${path} sets ${setting}`
    }
  }
  return undefined
}

/** Returns the git directory of the repository itself, and that of the repository whose worktree it is. */
function ownDirectories(cwd: string): string[] {
  for (let at = cwd; at !== dirname(at); at = dirname(at)) {
    const own = gitEntry(at)?.gitDirectory
    if (own !== undefined) return [own, pointedTo(join(own, 'commondir'), /^(.+)\n?$/) ?? own]
  }
  return []
}

const isPlaceOfFiles = ({ section, key }: { readonly section: string; readonly key: string }): boolean =>
  section === 'core' && key === 'worktree'

function modulesIn(directory: string, depth: number): string[] {
  if (depth > deepest) return []
  return namesIfReadable(directory).flatMap((name) => {
    const path = join(directory, name)
    return namesIfReadable(path).includes('HEAD') ? [path] : modulesIn(path, depth + 1)
  })
}
