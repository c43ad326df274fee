import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installedPackages, installUserPackages } from '../../scripts/user-packages.mjs'

/** A set-up of the whole test run. `npm test` has installed them while it built. */
export const setup = installUserPackages

export { installedPackages }

/** Loads a package of users from where it is installed apart. */
// biome-ignore lint/suspicious/noExplicitAny: packages of others, with types of their own
export async function loadPackage(name: string): Promise<any> {
  const folder = join(installedPackages, name)
  const { module, main, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const entry = exports?.['.']?.import?.default ?? exports?.['.']?.import ?? module ?? main ?? 'index.js'
  return import(pathToFileURL(join(folder, typeof entry === 'string' ? entry : main)).href)
}
