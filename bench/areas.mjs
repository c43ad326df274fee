// Lists the areas: the files `NAME.bench.mjs` here and one folder below.
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'

const folder = import.meta.dirname

/** Their files by name, in the order of the names. @returns {Map<string, string>} */
export function areaFiles() {
  const found = readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? readdirSync(join(folder, entry.name)).map((name) => join(folder, entry.name, name))
      : [join(folder, entry.name)],
  )
  const named = found.flatMap((path) => {
    const area = /^([a-z]+)\.bench\.mjs$/.exec(basename(path))?.[1]
    return area === undefined ? [] : [/** @type {const} */ ([area, path])]
  })
  return new Map(named.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
