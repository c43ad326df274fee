import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** What a thread needs to take the types out of TypeScript and leave every line where it was. */
export type TypeStripper = Pick<typeof import('sucrase'), 'transform'>
export { transform } from 'sucrase'

/**
 * Where a thread finds it: this file, once the package is built and the library is part of it; among sources, which a thread cannot
 * read, the library itself. The types are taken out there and not here, because a parser can be kept busy for ever.
 */
export function stripperUrl(): string {
  const url = import.meta.url
  return url.endsWith('.ts') ? pathToFileURL(createRequire(url).resolve('sucrase')).href : url
}
