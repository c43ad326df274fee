import { serverToolDigest } from '../authority/server-tool.js'
import { tryOr } from '../tool/errors.js'
import { isRecord, type JsonSchema } from '../tool/json.js'
import { visibleText } from '../toolbox/untrusted-text.js'
import type { Connection } from './connection.js'
import { toolLabel } from './names.js'
import { cut, readSchema } from './schema.js'
import { shownLine } from './secrets.js'
import type { McpServerSpec, StdioReach } from './server-options.js'

/** A tool as a server offers it, parsed and bounded. Nothing in it is trusted. */
export type OfferedTool = {
  /** The name that the server uses. */
  readonly name: string
  /** The name as part of the tool's id. */
  readonly label: string
  /** The full description of the server, as a user would see it. */
  readonly description: string
  readonly shown: JsonSchema
  readonly checked: JsonSchema
  readonly digest: string
}

export type ToolOffer = {
  readonly tools: readonly OfferedTool[]
  /** What was left out, and why. */
  readonly problems: readonly string[]
}

const maxPages = 50
const maxEntries = 1_000
/** Gateways of large companies offer thousands of tools; a session shows them by search. */
const maxTools = 5_000
const maxBytes = 4 * 1024 * 1024
const maxDescriptionLength = 8_000

/** Requests the tools of a server page by page, within the server's start timeout. */
export async function listTools(
  spec: McpServerSpec,
  connection: Connection,
  signal?: AbortSignal,
): Promise<ToolOffer> {
  const problems: string[] = []
  const found = await listAll(
    connection,
    'tools/list',
    'tools',
    spec.startTimeoutMs,
    problems,
    signal,
    maxTools,
  )
  const tools = new Map<string, OfferedTool>()
  for (const given of found) {
    const read = await readTool(given, spec)
    if ('problem' in read) problems.push(read.problem)
    else if (tools.has(read.label))
      problems.push(`the tool "${shown(read.name)}" is offered twice: only the first counts`)
    else tools.set(read.label, read)
  }
  return { tools: [...tools.values()], problems }
}

/** The entries of all pages, with a limit: a server that sends pages without end is cut off. */
export async function listAll(
  connection: Connection,
  method: string,
  member: string,
  timeoutMs: number,
  problems: string[],
  signal?: AbortSignal,
  most = maxEntries,
): Promise<unknown[]> {
  const found: unknown[] = []
  const seen = new Set<string>()
  const deadline = performance.now() + timeoutMs
  let cursor: string | undefined
  let bytes = 0
  for (let page = 0; ; page++) {
    const left = Math.max(1, Math.round(deadline - performance.now()))
    const limits = { timeoutMs: left, signal }
    const answer = await connection.request(method, cursor === undefined ? {} : { cursor }, limits)
    const list = isRecord(answer) ? answer[member] : undefined
    if (Array.isArray(list)) {
      found.push(...list.slice(0, most + 1 - found.length))
      bytes += list.reduce((sum: number, one) => sum + sizeOf(one), 0)
    }
    const next = isRecord(answer) ? answer['nextCursor'] : undefined
    const why =
      found.length > most
        ? `more than ${most} entries`
        : typeof next !== 'string' || next === ''
          ? undefined
          : page + 1 >= maxPages
            ? `more than ${maxPages} pages`
            : bytes > maxBytes
              ? `more than ${maxBytes} characters`
              : seen.has(next)
                ? 'a page that refers to itself'
                : undefined
    if (why !== undefined) problems.push(`${method} gave ${why}: the rest is left out`)
    if (why !== undefined || typeof next !== 'string' || next === '') return found.slice(0, most)
    seen.add(next)
    cursor = next
  }
}

/** A value that cannot be serialized is too deep, and is left out where it is read. */
function sizeOf(value: unknown): number {
  return tryOr(() => JSON.stringify(value)?.length ?? 0, 0)
}

async function readTool(
  given: unknown,
  { label, reach }: McpServerSpec,
): Promise<OfferedTool | { readonly problem: string }> {
  const name = isRecord(given) ? given['name'] : undefined
  if (!isRecord(given) || typeof name !== 'string' || name === '')
    return { problem: 'a tool without a name is left out' }
  const schema = readSchema(given['inputSchema'])
  if (!schema.ok) return { problem: `the tool "${shown(name)}" is left out: ${schema.problem}` }
  const said = typeof given['description'] === 'string' ? given['description'] : ''
  return {
    name,
    label: toolLabel(name, label),
    description: cut(visibleText(said.slice(0, maxDescriptionLength * 2)), maxDescriptionLength),
    shown: schema.shown,
    checked: schema.checked,
    digest: await serverToolDigest({
      // The full text, including what is cut or invisible to the user: any change counts.
      description: `${name}\0${said}`,
      parameters: given['inputSchema'] ?? null,
      server: reach.by === 'stdio' ? programIdentity(reach) : { url: reach.url.href },
    }),
  }
}

/** The sandbox of a program is part of what was approved: without it, it counts as another server. */
function programIdentity({ argv, cwd, sandbox, allowHosts, writable, readOnly }: StdioReach): object {
  return {
    argv,
    cwd,
    ...(sandbox === 'workspace' ? { sandbox, allowHosts, writable, readOnly } : { sandbox }),
  }
}

function shown(text: string): string {
  return shownLine(text, (same) => same, 80)
}
