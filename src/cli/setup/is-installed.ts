import { createRequire } from 'node:module'

/** Whether a package that we can do without is there. */
export function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name)
    return true
  } catch {
    // Not there, or not for us.
    return false
  }
}
