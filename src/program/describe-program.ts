import type { ToolDefinition } from '../tool/definition.js'

const about = `Run a script that calls tools, in place of many rounds of calls: only what it returns comes back. \`export default async function run(ctx, inputs) { ... return { summary: 'one line', ... } }\`. No imports, files, network or timers; console and sleep(ms) exist. Promise.all runs calls at once. ctx, all async:`

/** Shortcuts, by the tool that each stands for. */
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
 * What a model is told of programs: what they are, and typed declarations of what they may call. What the other tools take it is shown
 * for each of them beside this one; here it would only be said twice.
 */
export function describeProgram(tools: readonly ToolDefinition[] = []): string {
  const known = new Set(tools.map(({ name }) => name))
  const own = shortcuts.flatMap(([tool, declaration]) => (known.has(tool) ? [declaration] : []))
  return [about, ...own, any].join('\n')
}
