import type { GovernedTool } from './contract.js'
import { createJsonTool } from './create-json-tool.js'
import { objectSchema } from './object-schema.js'

/** The name and the description of the tool. */
export type CreateThinkToolOptions = { name?: string; description?: string }

const thinkDescription =
  'Write down a thought before acting: what is known, what is missing, which step comes next. It changes nothing and fetches nothing.'

/** Creates a tool that returns its input, so that a model can reason between calls. */
export function createThinkTool(
  options: CreateThinkToolOptions = {},
): GovernedTool<{ thought: string }, string> {
  return createJsonTool<{ thought: string }, string>({
    name: options.name ?? 'think',
    description: options.description ?? thinkDescription,
    kind: 'think',
    idempotent: true,
    parameters: objectSchema({ thought: { type: 'string', description: 'The thought.' } }),
    execute: ({ thought }) => thought,
  })
}
