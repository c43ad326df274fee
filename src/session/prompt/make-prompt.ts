import { platform } from 'node:process'
import { readInstructions } from '../../workspace/instructions/read-instructions.js'
import type { SessionCore } from '../core.js'
import { agentsSection, lookForAgents } from '../parts/agents.js'
import { serversSection } from '../parts/mcp.js'
import { lookForSkills, skillsSection } from '../parts/skills.js'
import { SingleFlight } from '../single-flight.js'
import { sharedText } from './shared-text.js'
import { systemPrompt } from './system-prompt.js'

/** The instructions of the model for this session. They are made once: what changes later is said in messages. */
export async function makePrompt(core: SessionCore, found: FoundInstructions): Promise<string> {
  const { options, root } = core.parts
  for (const message of found.problems) core.emit({ type: 'notice', source: 'instructions', message })
  const skills = await skillsSection(core)
  const text = systemPrompt({
    slots: options,
    planning: options.planningMode !== 'disabled' && core.shelf.isShown('todo'),
    instructions: found.files,
    sections: [...skills, ...agentsSection(core), ...serversSection(core)],
    environment: { workspace: root, platform, date: dayOf(core.now()) },
  })
  return sharedText(text)
}

export type FoundInstructions = Awaited<ReturnType<typeof readInstructions>>

/**
 * Looks for what the prompt is made of: files of instructions, skills and agents. Sessions that look at the same moment look together,
 * so it is begun before anything that takes them one by one.
 */
export async function lookForPrompt(core: SessionCore): Promise<FoundInstructions> {
  const [found] = await Promise.all([instructionsOf(core), lookForSkills(core), lookForAgents(core)])
  return found
}

async function instructionsOf({ parts }: SessionCore): Promise<FoundInstructions> {
  const { root, userDir, instructions, options } = parts
  const { instructionFiles: names } = options
  if (names === false) return { files: [], problems: [] }
  const places = { root, userDir, ...instructions, ...(names !== undefined && { fileNames: names }) }
  return instructionFiles.ask(JSON.stringify(places), () => readInstructions(places))
}

const instructionFiles = new SingleFlight<FoundInstructions>()

/** A clock that is not of this world gives no date. */
function dayOf(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? 'unknown' : date.toISOString().slice(0, 10)
}
