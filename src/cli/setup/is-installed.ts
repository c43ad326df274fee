import { createRequire } from 'node:module'

/** Whether an optional package is installed. */
export function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name)
    return true
  } catch {
    // The package is not installed, or does not export its package.json.
    return false
  }
}
