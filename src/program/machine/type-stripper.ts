import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** What a thread needs to remove the types of TypeScript without changing line numbers. */
export type TypeStripper = Pick<typeof import('sucrase'), 'transform'>
export { transform } from 'sucrase'

/**
 * Returns the URL for a thread: this file in the built package, which contains the library; the library itself among
 * sources, which a thread cannot load. The types are removed in the thread, because a hostile source can keep a
 * parser busy forever.
 */
export function stripperUrl(): string {
  const url = import.meta.url
  return url.endsWith('.ts') ? pathToFileURL(createRequire(url).resolve('sucrase')).href : url
}
