import { type Export, resolveRelative, type SourceFile } from './source-tree.js'

/**
 * The exported values, written `file#name`, that no other source file imports and no entry file makes public. A
 * re-export alone keeps nothing alive: someone has to take the name at its end. Types may be exported next to the
 * function that uses them.
 *
 * Hand-written because it shares the parsed files with the checks of layers and entries: 300 lines in all. knip would
 * add 36 packages for this.
 */
export function unusedExports(files: readonly SourceFile[], entrySources: readonly string[]): string[] {
  const used = usedNames(files, files, entrySources)
  return exportedNames(files).filter((name) => !used.has(name))
}

/** The names of `files` that one of `users` imports, followed through re-exports to where they are defined. */
export function usedNames(
  files: readonly SourceFile[],
  users: readonly SourceFile[],
  entrySources: readonly string[] = [],
): ReadonlySet<string> {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const used = new Set<string>()
  const mark = (path: string, name: string): void => {
    const key = `${path}#${name}`
    if (used.has(key)) return
    used.add(key)
    for (const each of byPath.get(path)?.exports ?? []) {
      if (name === '*' && each.name !== '*') mark(path, each.name)
      if (!passesOn(each, name) || each.from === undefined) continue
      const target = resolveRelative(path, each.from.specifier)
      // `export *` passes on the very name that was asked for.
      if (target !== undefined) mark(target, each.name === '*' ? name : each.from.name)
    }
  }
  for (const { path, references } of users) {
    for (const { specifier, kind, names } of references) {
      const target = resolveRelative(path, specifier)
      if (kind === 'reexport' || target === undefined || target === path) continue
      for (const name of names) mark(target, name)
    }
  }
  for (const path of entrySources) mark(path, '*')
  return used
}

function passesOn({ name: given }: Export, name: string): boolean {
  return given === name || given === '*'
}

export function exportedNames(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, exports }) =>
    exports.flatMap(({ name, isType }) => (name === '*' || isType ? [] : [`${path}#${name}`])),
  )
}

/** The files that no entry file leads to, types included: code that keeps only itself alive. */
export function unreachedFiles(files: readonly SourceFile[], entrySources: readonly string[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const reached = new Set<string>()
  const visit = (path: string): void => {
    if (reached.has(path)) return
    reached.add(path)
    for (const { specifier } of byPath.get(path)?.references ?? []) {
      const target = resolveRelative(path, specifier)
      if (target !== undefined) visit(target)
    }
  }
  for (const path of entrySources) visit(path)
  return files.map(({ path }) => path).filter((path) => !reached.has(path))
}
