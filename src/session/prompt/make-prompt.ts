import { platform } from 'node:process'
import { readInstructions } from '../../workspace/instructions/read-instructions.js'
import type { SessionCore } from '../core.js'
import { agentsSection } from '../parts/agents.js'
import { skillsSection } from '../parts/skills.js'
import { sharedText } from './shared-text.js'
import { systemPrompt } from './system-prompt.js'

/** The instructions of the model for this session. They are made once: what changes later is said in messages. */
export async function makePrompt(core: SessionCore): Promise<string> {
  const { options, root, userDir, instructions } = core.parts
  const { instructionFiles } = options
  const found =
    instructionFiles === false
      ? { files: [], problems: [] }
      : await readInstructions({
          root,
          userDir,
          ...instructions,
          ...(instructionFiles !== undefined && { fileNames: instructionFiles }),
        })
  for (const message of found.problems) core.emit({ type: 'notice', source: 'instructions', message })
  const skills = await skillsSection(core)
  const text = systemPrompt({
    slots: options,
    planning: options.planningMode !== 'disabled' && core.shelf.isShown('todo'),
    instructions: found.files,
    sections: [...skills, ...agentsSection(core)],
    environment: { workspace: root, platform, date: dayOf(core.now()) },
  })
  return sharedText(text)
}

/** A clock that is not of this world gives no date. */
function dayOf(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? 'unknown' : date.toISOString().slice(0, 10)
}
