import type { ToolDefinition } from '../tool/definition.js'
import { isRecord } from '../tool/json.js'

/** What a model pays for it in every request. */
const maxLength = 1_500

const about = `Run a JavaScript program that calls tools, in place of many rounds of calls: only what it returns comes back. Source: \`export default async function run(ctx, inputs) { ... return { summary: 'one line', ... } }\`. No import, fs, fetch, process or timers; console and sleep(ms) are there. Promise.all runs calls at once. Declarations:`

const general = [
  'type Result = { output: string; exitCode: number; metadata: object } // failed: exitCode is not 0',
  'ctx.tool(name: string, args: object): Promise<Result>; ctx.tools.<name>(args): the same',
]

/** Shortcuts, by the tool each stands for. Those that give no Result throw when the call fails. */
const shortcuts: Readonly<Record<string, string>> = {
  read: 'ctx.readFile(path: string, o?: { offset?: number; limit?: number }): Promise<string> // the text as it is',
  grep: 'ctx.grep(regex: string, o?: { path?: string; glob?: string }): Promise<string>',
  glob: 'ctx.glob(pattern: string): Promise<string[]>',
  ls: 'ctx.ls(path?: string): Promise<string>',
  bash: 'ctx.bash(command: string): Promise<string>',
  git: 'ctx.git(command: string, o?: object): Promise<Result>',
}

/**
 * What a model is told of programs: what they are, and typed declarations of what they may call. Compact: where the arguments of every
 * tool would be too much, the last ones are only named.
 */
export function describeProgram(tools: readonly ToolDefinition[]): string {
  const callable = tools.filter(({ name }) => name !== 'program')
  const own = callable.flatMap(({ name }) => shortcuts[name] ?? [])
  const text = [about, ...general, ...own].join('\n')
  const others = callable.filter(({ name }) => !Object.hasOwn(shortcuts, name))
  return others.length === 0 ? text : `${text}\n${toolLine(others, maxLength - text.length - 1)}`
}

function toolLine(tools: readonly ToolDefinition[], room: number): string {
  const start = 'ctx.tools: '
  const names = tools.map(({ name }) => name)
  let line = start
  for (const [at, tool] of tools.entries()) {
    const rest = names.slice(at + 1).join(', ')
    const next = `${at === 0 ? '' : ', '}${signature(tool)}`
    if (line.length + next.length + rest.length + 2 > room) return shortened(line, names.slice(at), room)
    line += next
  }
  return line
}

function shortened(line: string, names: readonly string[], room: number): string {
  const joined = `${line}${line.endsWith(': ') ? '' : ', '}${names.join(', ')}`
  return joined.length <= room ? joined : `${joined.slice(0, Math.max(line.length, room - 4))} ...`
}

function signature({ name, parameters }: ToolDefinition): string {
  const properties = isRecord(parameters['properties']) ? parameters['properties'] : {}
  const required = Array.isArray(parameters['required']) ? parameters['required'] : []
  const fields = Object.entries(properties).map(
    ([key, schema]) => `${key}${required.includes(key) ? '' : '?'}: ${typeOf(schema, 0)}`,
  )
  return fields.length === 0 ? `${name}({})` : `${name}({ ${fields.join(', ')} })`
}

function typeOf(schema: unknown, depth: number): string {
  if (!isRecord(schema)) return 'unknown'
  const { type, items, properties } = schema
  if (Array.isArray(schema['enum'])) return schema['enum'].map((one) => JSON.stringify(one)).join(' | ')
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'array') return `${wrapped(typeOf(items, depth))}[]`
  if (type !== 'object' || !isRecord(properties) || depth > 1)
    return typeof type === 'string' ? type : 'unknown'
  const fields = Object.entries(properties).map(([key, inner]) => `${key}: ${typeOf(inner, depth + 1)}`)
  return `{ ${fields.join(', ')} }`
}

function wrapped(type: string): string {
  return type.includes('|') && !type.startsWith('{') ? `(${type})` : type
}
