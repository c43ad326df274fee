import type { AgentEvent } from '../../loop/events.js'
import { type Io, write } from '../io.js'
import { modelEventText } from '../model-events.js'
import { noticeText } from '../notice-text.js'
import { type Colors, colorsFor } from '../terminal/colors.js'
import { plainOutput, safeLine } from '../terminal/safe-text.js'
import { cutTo } from '../terminal/width.js'

/** Prints what a run does on standard error, one line per event. The answer is printed elsewhere. */
export class Progress {
  readonly #io: Io
  readonly #colors: Colors
  readonly #startedAt = new Map<string, number>()
  /** `quiet` prints nothing, `plain` prints notes and warnings, `full` also prints tool calls. */
  readonly #detail: 'quiet' | 'plain' | 'full'

  constructor(io: Io, detail: 'quiet' | 'plain' | 'full') {
    this.#io = io
    this.#detail = detail
    this.#colors = colorsFor(io, 'stderr')
  }

  async note(text: string): Promise<void> {
    if (this.#detail !== 'quiet') await write(this.#io.stderr, `${this.#colors.dim(safeLine(text, 500))}\n`)
  }

  async warn(text: string): Promise<void> {
    if (this.#detail !== 'quiet')
      await write(this.#io.stderr, `${this.#colors.yellow('warning:')} ${safeLine(text, 500)}\n`)
  }

  async event(event: AgentEvent): Promise<void> {
    const line = this.#lineFor(event)
    if (line !== undefined) await write(this.#io.stderr, `${line}\n`)
  }

  #lineFor(event: AgentEvent): string | undefined {
    if (this.#detail === 'quiet') return undefined
    const { dim, yellow } = this.#colors
    switch (event.type) {
      case 'notice':
        return dim(safeLine(`note from ${event.source}: ${noticeText(event)}`, 2_500))
      case 'model_retry':
      case 'model_rate_limit_wait':
      case 'model_fallback':
      case 'model_circuit_opened':
        return dim(safeLine(modelEventText(event) ?? '', 500))
      case 'persistence_failed':
      case 'compaction_failed':
        return `${yellow('warning:')} ${safeLine(event.error, 500)}`
      default:
        return this.#detail === 'full' ? this.#detailFor(event) : undefined
    }
  }

  #detailFor(event: AgentEvent): string | undefined {
    const { dim, green, red, magenta } = this.#colors
    const room = Math.max(40, this.#io.columns()) - 2
    switch (event.type) {
      case 'tool_execution_start':
        this.#startedAt.set(event.toolId, performance.now())
        return cutTo(`${magenta(event.toolName)} ${safeLine(event.args, 300)}`, room)
      case 'tool_end': {
        const took = this.#took(event.toolId)
        const [first = ''] = plainOutput(event.toolOutput.slice(0, 2_000)).trim().split('\n')
        return `${event.isError ? red('✗') : green('✓')} ${dim(cutTo(`${event.toolName}${took} ${safeLine(first, 300)}`, room - 2))}`
      }
      case 'subagent_start':
        return dim(cutTo(`${safeLine(event.agent, 60)} started: ${safeLine(event.description, 300)}`, room))
      case 'verification_check_end':
        return dim(`check ${safeLine(event.checkId, 100)}: ${event.status}`)
      default:
        return undefined
    }
  }

  #took(toolId: string): string {
    const startedAt = this.#startedAt.get(toolId)
    this.#startedAt.delete(toolId)
    return startedAt === undefined ? '' : ` (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`
  }
}
