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
