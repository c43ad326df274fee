import type { ToolDefinition } from '../tool/definition.js'

const about = `Run a script that calls tools, in place of many rounds of calls: only what it returns comes back. \`export default async function run(ctx, inputs) { ... return { summary: 'one line', ... } }\`. No imports, files, network or timers; console and sleep(ms) exist. Promise.all runs calls at once. ctx, all async:`

/** Shortcuts, by their tools. */
const shortcuts: readonly (readonly [tool: string, declaration: string])[] = [
  ['read', 'readFile(path: string, o?: { offset?: number, limit?: number }): string'],
  ['grep', 'grep(regex: string, o?: { path?: string, glob?: string }): string'],
  ['glob', 'glob(pattern: string): string[]'],
  ['ls', 'ls(path?: string): string'],
  ['bash', 'bash(command: string): string'],
  ['bash', 'verify(subject: string, commands: string[]): object'],
  ['git', 'git(command: string, o?: object): Result'],
  ['web_search', 'webSearch(query: string): Result'],
]

const any = `tools.<name>(args): Result // each of your other tools, with its arguments
type Result = { output: string, exitCode: number, metadata: object } // failed: not 0; the others throw`

/**
 * Returns the description of programs for a model: what they are, and typed declarations of what they can call. The
 * arguments of the other tools are in their own definitions, so they are not repeated here.
 */
export function describeProgram(tools: readonly ToolDefinition[] = []): string {
  const known = new Set(tools.map(({ name }) => name))
  const own = shortcuts.flatMap(([tool, declaration]) => (known.has(tool) ? [declaration] : []))
  return [about, ...own, any].join('\n')
}
