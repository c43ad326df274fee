// Reads the names that a compiled module exports.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseSync } from 'rolldown/utils'

/** Where a name is defined, and under which name. @typedef {{ module: string, name: string }} Definition */

/**
 * Returns the exported names of a module with their definitions, through all re-exports.
 * @param {string} path @returns {Map<string, Definition>}
 */
export function exportedNames(path) {
  /** @type {Map<string, Definition>} */
  const names = new Map()
  for (const { entries } of parseSync(path, readFileSync(path, 'utf8')).module.staticExports)
    for (const { exportName, importName, moduleRequest } of entries) {
      const { name } = exportName
      if (moduleRequest === null) {
        if (name === null) throw new Error(`${path} has a default export.`)
        names.set(name, { module: path, name })
        continue
      }
      const from = exportedNames(resolve(path, '..', moduleRequest.value))
      if (name === null) for (const [each, definition] of from) names.set(each, definition)
      else {
        const definition = from.get(importName.name ?? name)
        if (definition === undefined) throw new Error(`${path} exports ${name}, which is not defined.`)
        names.set(name, definition)
      }
    }
  return names
}
