import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { messageOf } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { parseJsonText } from '../tool/json-text.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { visibleLine } from '../toolbox/untrusted-text.js'
import { openConfirmations } from '../workspace/rules/confirmations.js'
import { readIfThere } from '../workspace/rules/read-if-there.js'
import { withheldFrom } from './describe-failure.js'
import { McpError } from './errors.js'
import type { McpFile, McpFileServer } from './host-types.js'
import { type McpServerSpec, readServer } from './server-options.js'

export type McpFileOptions = {
  /** The real path of the workspace. */
  readonly root: string
  readonly userDir: string
  /** The variables that `${NAME}` can refer to: only those that the host named (SEC-149). */
  readonly env: Readonly<Record<string, string>>
}

const maxFileBytes = 256 * 1024

/** Reads the `.mcp.json` of a workspace; undefined if there is none. Throws `McpError` if it cannot be read. */
export async function readMcpFile(
  options: McpFileOptions,
): Promise<(McpFile & { readonly specs: readonly McpServerSpec[]; readonly text: string }) | undefined> {
  const path = join(options.root, '.mcp.json')
  const text = await readIfThere(path, maxFileBytes).catch((error: unknown) => {
    throw new McpError('mcp_config', `${path} cannot be used: ${messageOf(error)}`)
  })
  if (text === undefined) return undefined
  const confirmation = createHash('sha256')
    // The number is raised when the same text gets a wider meaning: users who confirmed the old meaning are asked
    // again.
    .update(`capstan-mcp-file-2\0${options.root}\0${text}`)
    .digest('hex')
  const confirmed = (await openConfirmations(options).all()).has(confirmation)
  const { specs, servers, problems } = readServers(text, path, options.env)
  return { path, confirmed, confirmation, servers, problems, specs, text }
}

export async function confirmMcpFile(options: McpFileOptions, confirmation: string): Promise<void> {
  const file = await readMcpFile(options)
  if (file === undefined || file.confirmation !== confirmation)
    throw new McpError(
      'mcp_config',
      'The file is not the one that was confirmed: it was removed, or has changed. Read it again.',
    )
  await openConfirmations(options).add(confirmation)
}

/** The fields that are read. Other fields, such as those about approval and trust, are not the file's decision. */
const taken = [
  ...(['type', 'transport', 'command', 'args', 'cwd', 'env', 'url', 'headers'] as const),
  ...(['sandbox', 'allowHosts', 'writable', 'readOnly'] as const),
]

function readServers(
  text: string,
  path: string,
  env: Readonly<Record<string, string>>,
): { specs: McpServerSpec[]; servers: McpFileServer[]; problems: string[] } {
  const value = strictJson(text, path)
  const servers = isRecord(value) ? value['mcpServers'] : undefined
  if (!isRecord(servers)) throw new McpError('mcp_config', `${path} has no "mcpServers" object.`)
  const specs: McpServerSpec[] = []
  const shown: McpFileServer[] = []
  const problems: string[] = []
  for (const [name, given] of Object.entries(servers)) {
    try {
      if (!isRecord(given)) throw new McpError('mcp_config', 'it is not an object')
      const known = Object.fromEntries(
        taken.flatMap((key) => (given[key] === undefined ? [] : [[key, given[key]]])),
      )
      const spec = readServer({ ...(expanded(known, env) as object), name }, 'workspace')
      if (specs.some(({ label }) => label === spec.label))
        throw new McpError('mcp_config', 'two servers have that name')
      specs.push(spec)
      shown.push(shownServer(spec, known['env']))
    } catch (error) {
      problems.push(`the server "${visibleLine(name, 80)}" is left out: ${messageOf(error)}`)
    }
  }
  return { specs, servers: shown, problems }
}

/**
 * What the user is shown and decides on. Variables are shown as the file writes them: they can contain code, and the
 * name of a secret is shown, not its value.
 */
function shownServer({ name, reach }: McpServerSpec, env: unknown): McpFileServer {
  if (reach.by === 'http')
    return { name, by: 'http', runs: visibleLine(reach.url.href, 500), confined: false }
  const withheld = withheldFrom(reach)
  const variables = isRecord(env)
    ? Object.entries(env).map(([key, value]) => [visibleLine(key, 100), visibleLine(String(value), 300)])
    : []
  return {
    name,
    by: 'stdio',
    runs: visibleLine(reach.argv.join(' '), 500),
    ...(variables.length > 0 && { env: Object.fromEntries(variables) }),
    confined: withheld !== undefined,
    ...omitUndefined({ withheld }),
  }
}

/** Rejects JSON that two parsers could read differently (SEC-152). */
function strictJson(text: string, path: string): unknown {
  let value: unknown
  try {
    value = parseJsonText(text)
  } catch (error) {
    throw new McpError('mcp_config', `${path} cannot be used: ${messageOf(error)}`)
  }
  const written = [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(
    ([, colon]) => colon !== undefined,
  ).length
  if (written !== keysIn(value))
    throw new McpError('mcp_config', `${path} cannot be used: a name is in it twice, or is not allowed.`)
  return value
}

function keysIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce((sum: number, member) => sum + keysIn(member), own)
}

/** Expands `${NAME}` and `${NAME:-default}` once: the value of a variable is not expanded again. */
function expanded(value: unknown, env: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string')
    return value.replace(/\$\{([^}]*)\}/g, (_, inner: string) => {
      const [, name = '', fallback] = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(inner) ?? []
      const known = Object.hasOwn(env, name) ? env[name] : fallback
      if (known === undefined)
        throw new McpError(
          'mcp_config',
          `\${${visibleLine(inner, 60)}} is not a variable that the session was given in env`,
        )
      return known
    })
  if (Array.isArray(value)) return value.map((one) => expanded(one, env))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, expanded(member, env)]))
}
