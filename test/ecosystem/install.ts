import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installedPackages } from '../../scripts/user-packages.mjs'

export { installedPackages }

const users = pathToFileURL(join(installedPackages, '../package.json')).href

/** Loads a package of users from where it is installed apart. */
// biome-ignore lint/suspicious/noExplicitAny: packages of others, with types of their own
export function loadPackage(name: string): Promise<any> {
  return import(import.meta.resolve(name, users))
}

/**
 * Loads a package of users as CommonJS. Importing one that needs the TypeScript compiler takes twice the processor
 * time, because Node searches all of the compiler for names that it exports.
 */
// biome-ignore lint/suspicious/noExplicitAny: packages of others, with types of their own
export function requirePackage(name: string): any {
  return createRequire(users)(name)
}
