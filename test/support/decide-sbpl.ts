import type { SbplProfile } from '../../src/workspace/sandbox/seatbelt/read-sbpl.js'
import type { SbplFilter, SbplRule } from '../../src/workspace/sandbox/seatbelt/sbpl.js'

/**
 * What a profile decides about an operation on a path: the last rule that applies. Only macOS evaluates profiles, so
 * the tests do it here.
 */
export function decide(
  profile: SbplProfile,
  request: { readonly operation: string; readonly path: string },
): SbplRule['action'] {
  const rule = profile.rules.findLast(
    ({ operations, filters }) =>
      operations.some((operation) => covers(operation, request.operation)) &&
      (filters.length === 0 || filters.some((filter) => applies(filter, request.path))),
  )
  return rule?.action ?? profile.default
}

function covers(operation: string, asked: string): boolean {
  return operation.endsWith('*') ? asked.startsWith(operation.slice(0, -1)) : asked === operation
}

function applies(filter: SbplFilter, path: string): boolean {
  switch (filter.kind) {
    case 'literal':
      return path === filter.path
    case 'subpath':
      return path === filter.path || path.startsWith(filter.path === '/' ? '/' : `${filter.path}/`)
    case 'regex':
      return new RegExp(filter.pattern).test(path)
    case 'require-all':
      return filter.filters.every((each) => applies(each, path))
    case 'require-any':
      return filter.filters.some((each) => applies(each, path))
    case 'require-not':
      return !applies(filter.filter, path)
    case 'other':
      // These rules are about services, sockets and processes, never about a path.
      return false
  }
}
