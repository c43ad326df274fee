import type { ToolDefinition } from '../tool/definition.js'

/** What a model pays for it in every request. */
const maxLength = 1_200

const about = `Run a script that calls tools, in place of many rounds of calls; only what it returns comes back. \`export default async function run(ctx, inputs) { ... return { summary: 'one line', ... } }\`. No imports, files, network or timers; console and sleep(ms) are there. Promise.all runs calls at once.
type Result = { output: string, exitCode: number, metadata: object } // failed: exitCode is not 0
ctx: { // what gives no Result throws when it fails`

/** Shortcuts, by the tool that each stands for. */
const shortcuts: readonly (readonly [tool: string, declaration: string])[] = [
  ['read', 'readFile(path: string, o?: { offset?: number, limit?: number }): Promise<string>'],
  ['grep', 'grep(regex: string, o?: { path?: string, glob?: string }): Promise<string>'],
  ['glob', 'glob(pattern: string): Promise<string[]>'],
  ['ls', 'ls(path?: string): Promise<string>'],
  ['bash', 'bash(command: string): Promise<string>'],
  ['bash', 'verify(subject: string, commands: string[]): Promise<object>'],
  ['git', 'git(command: string, o?: object): Promise<Result>'],
  ['web_search', 'webSearch(query: string): Promise<Result>'],
]

/**
 * What a model is told of programs: what they are, and typed declarations of what they may call. The arguments of the other tools are
 * those that the model is shown for each of them, so here they are only named, as far as there is room.
 */
export function describeProgram(tools: readonly ToolDefinition[] = []): string {
  const names = tools.map(({ name }) => name).filter((name) => name !== 'program')
  const known = new Set(names)
  const own = shortcuts.flatMap(([tool, declaration]) => (known.has(tool) ? [declaration] : []))
  const short = new Set(shortcuts.map(([tool]) => tool))
  const others = names.filter((name) => !short.has(name))
  const start = [
    about,
    ...own,
    'tools.<name>(args), tool(name, args): Promise<Result> // any tool of yours',
  ].join('\n')
  return `${start}${listed(others, maxLength - start.length - end.length)}${end}`
}

const end = '\n}'

function listed(names: readonly string[], room: number): string {
  let list = ''
  for (const name of names) {
    const next = `${list === '' ? ', such as ' : ', '}${name}`
    if (list.length + next.length > room) break
    list += next
  }
  return list
}
