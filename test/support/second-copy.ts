import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'

/**
 * Imports a module a second time, with a second copy of everything that it imports from the repository, as when two
 * copies of the package are installed.
 * @param module the URL of the module
 * @param replaced files that the copies import instead of others, as URLs of TypeScript files
 */
export function importCopy<T>(module: URL, replaced: Readonly<Record<string, string>> = {}): Promise<T> {
  if (process.env['MODULE_RUNNER'] === 'vite') {
    vi.resetModules()
    return import(fileURLToPath(module).replace(/\.js$/, '.ts'))
  }
  copies += 1
  return import(`${module.href}?${new URLSearchParams({ copy: String(copies), ...replaced })}`)
}

let copies = 0
