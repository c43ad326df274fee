import { platform } from 'node:process'
import { Recent } from '../../authority/recent.js'
import { SingleFlight } from '../../feature/single-flight.js'
import { estimateTokens } from '../../model/estimate-tokens.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { readInstructions } from '../../workspace/instructions/read-instructions.js'
import { featuresWith } from '../features-with.js'
import type { SessionKernel } from '../kernel.js'
import { systemPrompt } from './system-prompt.js'

/** The system prompt of a session. It is created once and stays the same: later changes are sent in messages. */
export class SessionPrompt {
  readonly #kernel: SessionKernel
  #text: Promise<string> | undefined
  /** The sources that the prompt will be created from. */
  #sources: Promise<FoundInstructions> | undefined
  /** The instruction files in the prompt, with their estimated sizes. Empty before the prompt was created. */
  files: readonly { readonly path: string; readonly tokens: number }[] = []

  constructor(kernel: SessionKernel) {
    this.#kernel = kernel
  }

  text(): Promise<string> {
    this.#text ??= this.#create().catch((error: unknown) => {
      this.#text = undefined
      throw error
    })
    return this.#text
  }

  /**
   * Starts to look up the sources of the prompt, unless the prompt exists. Sources that an earlier run found and did
   * not use are out of date.
   */
  lookAhead(): void {
    if (this.#text !== undefined) return
    this.#sources = findSources(this.#kernel)
    // The caller of `text` gets the error.
    this.#sources.catch(() => undefined)
  }

  async #create(): Promise<string> {
    const sources = this.#sources ?? findSources(this.#kernel)
    this.#sources = undefined
    const found = await sources
    this.files = found.files.map(({ path, text }) => ({
      path,
      tokens: estimateTokens({ chatHistory: [], instructions: text }),
    }))
    return createPrompt(this.#kernel, found)
  }
}

type FoundInstructions = Awaited<ReturnType<typeof readInstructions>>

/**
 * Looks up instruction files and the sources of features. Sessions that start at the same moment share the lookup, so
 * it starts before any step that limits concurrency.
 */
async function findSources(kernel: SessionKernel): Promise<FoundInstructions> {
  const others = featuresWith('findPromptSources').map((feature) => feature.findPromptSources(kernel))
  const [found] = await Promise.all([instructionsOf(kernel), ...others])
  return found
}

async function createPrompt(kernel: SessionKernel, found: FoundInstructions): Promise<string> {
  const { options, root } = kernel
  for (const message of found.problems) kernel.emit({ type: 'notice', source: 'instructions', message })
  const sections: string[] = []
  for (const feature of featuresWith('promptSection')) {
    const section = await feature.promptSection(kernel)
    if (section !== undefined) sections.push(section)
  }
  const text = systemPrompt({
    slots: options,
    planning: options.planningMode !== 'disabled' && kernel.tools.isShown('todo'),
    instructions: found.files,
    sections,
    environment: { workspace: root, platform, date: dayOf(kernel.now()) },
  })
  return sharedText(text)
}

async function instructionsOf(kernel: SessionKernel): Promise<FoundInstructions> {
  const { projectRoot: root, userDir, options, setup } = kernel
  const { instructionFiles: names } = options
  if (names === false) return { files: [], problems: [] }
  const places = { root, userDir, ...setup.instructions, ...omitUndefined({ fileNames: names }) }
  if (root === undefined) {
    const { workspace } = await kernel.engine.open()
    return readInstructions(places, workspace.files)
  }
  return instructionFiles.ask(JSON.stringify(places), () => readInstructions(places))
}

const instructionFiles = new SingleFlight<FoundInstructions>()

/** Returns the date. The clock of a host can be outside the range of dates. */
function dayOf(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? 'unknown' : date.toISOString().slice(0, 10)
}

/**
 * Returns one shared copy of a text: sessions on one workspace have the same prompt, and with a project's instructions
 * it is the largest object of an idle session.
 */
function sharedText(text: string): string {
  return recent.get(text, () => text)
}

const maxKept = 16
const recent = new Recent<string>(maxKept)
