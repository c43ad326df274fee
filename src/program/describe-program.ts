import type { ToolDefinition } from '../tool/definition.js'

const about = `Run a script that calls tools, in place of many rounds: only what it returns comes back. \`export default async function run(ctx, inputs) { ... return { summary: 'one line', ... } }\`. No imports, files, network, timers; console and sleep(ms) exist. Promise.all runs calls at once. ctx, all async:`

/** The shortcuts, by tool. */
const shortcuts: readonly (readonly [tool: string, declaration: string])[] = [
  ['read', 'readFile(path, { offset, limit }?): string'],
  ['grep', 'grep(regex, { path, glob }?): string'],
  ['glob', 'glob(pattern): string[]'],
  ['ls', 'ls(path?): string'],
  ['bash', 'bash(command): string'],
  ['bash', 'verify(subject, commands: string[]): object'],
  ['git', 'git(command, arguments?): Result'],
  ['web_search', 'webSearch(query): Result'],
]

const any = `tools.<name>(args): Result // your other tools
type Result = { output: string, exitCode: number, metadata: object } // failed: not 0; the others throw`

/**
 * Returns the description of programs for a model: what they are, and what they can call. The
 * arguments of the other tools are in their own definitions, so they are not repeated here.
 */
export function describeProgram(tools: readonly ToolDefinition[] = []): string {
  const known = new Set(tools.map(({ name }) => name))
  const own = shortcuts.flatMap(([tool, declaration]) => (known.has(tool) ? [declaration] : []))
  return [about, ...own, any].join('\n')
}
