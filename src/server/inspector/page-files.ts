import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ProblemError } from '../problem.js'

/**
 * The content security policy. It allows only the page's own files: no other origin, no inline script, no markup from
 * text, and no framing.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const types: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'app.css': 'text/css; charset=utf-8',
}

/** Serves one file of the inspector's page. The files contain no data, so access is public. */
export async function pageFile(name: string): Promise<Response> {
  const type = Object.hasOwn(types, name) ? types[name] : undefined
  if (type === undefined) throw new ProblemError('not_found')
  const directory = pageDirectory()
  if (directory === undefined)
    throw new ProblemError('not_found', 'The page of the inspector is not built: run "npm run build".')
  return new Response(await readFile(join(directory, name)), {
    headers: {
      'content-type': type,
      'content-security-policy': policy,
      'cache-control': 'no-cache',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'camera=(), microphone=(), geolocation=()',
    },
  })
}

/**
 * Returns the directory of the built page: in `dist/` of the package, regardless of which bundle contains this code.
 */
function pageDirectory(): string | undefined {
  for (let at = dirname(fileURLToPath(import.meta.url)); ; at = dirname(at)) {
    const directory = join(at, 'dist/inspector')
    if (existsSync(join(directory, 'index.html'))) return directory
    if (dirname(at) === at) return undefined
  }
}
