import type { AgentEvent, RunSummary } from '../../../loop/events.js'
import type { Colors } from '../../terminal/colors.js'
import { plainOutput, safeLine } from '../../terminal/safe-text.js'
import { cutTo } from '../../terminal/width.js'
import { wrapText } from '../../terminal/wrap.js'
import type { AnswerStream } from '../markdown/markdown-stream.js'
import { eventLine } from './event-line.js'
import { counted, dollars, grouped, seconds } from './figures.js'
import { TaskLines } from './task-lines.js'
import { callTitle, editedLines, endedLines } from './tool-lines.js'

type RunningCall = { readonly name: string; about: string; readonly startedAt: number; last: string }

/** Shows a run: final lines are printed, and the current state is shown below them. */
export class RunView {
  readonly #answer: AnswerStream
  readonly #colors: Colors
  readonly #calls = new Map<string, RunningCall>()
  readonly #tasks = new TaskLines()
  readonly #startedAt = performance.now()
  #lines: string[] = []
  #last: 'nothing' | 'answer' | 'calls' = 'nothing'
  #answerBegun = false
  #thought = ''
  #plan: readonly string[] = []
  #isOver = false
  /** Whether a question was shown, so that an empty line separates the current state from it. */
  #isApart = false

  constructor(answer: AnswerStream, colors: Colors) {
    this.#answer = answer
    this.#colors = colors
  }

  add(event: AgentEvent, columns: number): void {
    switch (event.type) {
      case 'text_delta':
        this.#thought = ''
        this.#answer.add(event.text)
        return
      case 'reasoning_delta':
        this.#thought = (this.#thought + event.text).slice(-400)
        return
      case 'tool_start':
        this.#endAnswer(columns)
        this.#calls.set(event.toolId, {
          name: safeLine(event.toolName, 60),
          about: '',
          startedAt: performance.now(),
          last: '',
        })
        return
      case 'tool_execution_start':
        this.#calls.set(event.toolId, {
          ...callTitle(event.toolName, event.args),
          startedAt: performance.now(),
          last: '',
        })
        return
      case 'tool_output_delta':
        this.#progress(event)
        return
      case 'tool_end':
        this.#endCall(event, columns)
        return
      case 'task_updated':
        this.#plan = event.tasks.map(({ content, status }) => `${marks[status]} ${safeLine(content, 200)}`)
        return
      case 'subagent_start':
      case 'subagent_progress':
      case 'subagent_end': {
        const lines = this.#tasks.linesFor(event, this.#colors, columns)
        if (lines.length === 0) return
        this.#endAnswer(columns)
        this.#print('calls', lines)
        return
      }
      case 'answer_restarted':
        // Calls that were being streamed are dropped too; none of them ran.
        this.#calls.clear()
        this.#thought = ''
        break
      case 'agent_end':
        this.#isOver = true
        this.#endAnswer(columns)
        this.#print('nothing', this.#end(event.result, columns))
        return
      case 'agent_cancelled':
      case 'error':
        this.#isOver = true
        this.#endAnswer(columns)
        break
    }
    const line = eventLine(event, this.#colors, columns)
    if (line === undefined) return
    this.#endAnswer(columns)
    this.#print('calls', line)
    if (this.#isOver) this.#lines.push('')
  }

  /** Shows the changes of calls that were allowed without a question. */
  edited(diffs: readonly string[], columns: number): void {
    this.#endAnswer(columns)
    this.#print('calls', editedLines(diffs, this.#colors, columns))
  }

  /** The final lines that are not printed yet. */
  pull(columns: number): string[] {
    const lines = this.#answer.settle(columns)
    if (lines.length > 0) this.#printAnswer(lines)
    return this.#lines.splice(0)
  }

  /** Returns the lines to print before output that is not part of the run. */
  interrupt(columns: number): string[] {
    this.#endAnswer(columns)
    this.#last = 'calls'
    this.#isApart = true
    return this.#lines.splice(0)
  }

  /** The current state, in at most `rows` rows. */
  live(columns: number, rows: number): string[] {
    if (this.#isOver) return []
    const { dim, cyan, bold } = this.#colors
    const spin = cyan(frames[Math.floor(performance.now() / 100) % frames.length] ?? '·')
    const calls = [...this.#calls.values()].slice(0, 6).flatMap(({ name, about, startedAt, last }) => {
      const time = dim(` ${seconds(performance.now() - startedAt)}`)
      const title = cutTo(about, Math.max(4, columns - name.length - 14))
      const head = `${spin} ${bold(name)}${title === '' ? '' : ` ${title}`}${time}`
      return last === '' ? [head] : [head, dim(`    ${cutTo(last, columns - 6)}`)]
    })
    const tasks = this.#tasks.live().map((line) => dim(`    ${cutTo(line, columns - 6)}`))
    const rest = this.#answer.rest(columns)
    const thought =
      this.#thought === '' ? 'thinking' : safeLine(this.#thought, 400).slice(-Math.max(10, columns - 20))
    const idle = calls.length === 0 && rest.length === 0
    const waiting = idle
      ? [`${spin} ${dim(cutTo(`${thought} ${seconds(performance.now() - this.#startedAt)}`, columns - 4))}`]
      : []
    const plan =
      this.#plan.length === 0
        ? []
        : ['', ...this.#plan.slice(0, 8).map((line) => dim(cutTo(`  ${line}`, columns - 2)))]
    const gap = this.#hasGap(rest.length > 0, idle || calls.length > 0) ? [''] : []
    return [
      ...gap,
      ...rest.map((line) => fitting(line, columns)),
      ...calls,
      ...tasks,
      ...waiting,
      ...plan,
    ].slice(-Math.max(1, rows))
  }

  /** Whether an empty line separates the current state from the printed lines. */
  #hasGap(isAnswering: boolean, isWorking: boolean): boolean {
    if (this.#last === 'nothing') return false
    if (this.#last === 'calls') return isAnswering || this.#isApart
    return isWorking
  }

  #progress(event: Extract<AgentEvent, { type: 'tool_output_delta' }>): void {
    const call = this.#calls.get(event.toolId)
    if (call === undefined || event.whole === true) return
    const lines = plainOutput(event.text.slice(-2_000)).trim().split('\n')
    call.last = safeLine(lines.at(-1) ?? '', 300) || call.last
  }

  #endCall(event: Extract<AgentEvent, { type: 'tool_end' }>, columns: number): void {
    this.#endAnswer(columns)
    const call = this.#calls.get(event.toolId)
    this.#calls.delete(event.toolId)
    const took = seconds(event.metadata.duration_ms)
    this.#print('calls', endedLines(event, call?.about ?? '', took, this.#colors, columns))
  }

  #endAnswer(columns: number): void {
    const lines = this.#answer.end(columns)
    if (lines.length > 0) this.#printAnswer(lines)
    this.#answerBegun = false
  }

  #printAnswer(lines: readonly string[]): void {
    // An answer arrives in several parts, with its own empty lines between them.
    if (this.#answerBegun) this.#lines.push(...lines)
    else this.#print('answer', lines)
    this.#answerBegun = true
  }

  #print(kind: 'nothing' | 'answer' | 'calls', lines: readonly string[]): void {
    if (this.#last !== 'nothing' && kind !== 'nothing' && (this.#last !== kind || kind === 'answer'))
      this.#lines.push('')
    this.#lines.push(...lines)
    this.#last = kind
    this.#isApart = false
  }

  /** Formats the statistics of a run. A slash command that called no model has none. */
  #end(result: RunSummary, columns: number): string[] {
    if (result.finish === 'command' && result.costUsd === undefined) return ['']
    return ['', ...wrapText(this.#summary(result), columns, '  ').map(this.#colors.dim), '']
  }

  #summary({ rounds, toolCallsCount, totalTokens, costUsd, finish }: RunSummary): string {
    return [
      ...(finish === 'length' || finish === 'content_filter' ? [`cut off (${finish})`] : []),
      ...(finish === 'command'
        ? []
        : [counted(rounds, 'round'), counted(toolCallsCount, 'call'), `${grouped(totalTokens)} tokens`]),
      ...(costUsd === undefined ? [] : [dollars(costUsd)]),
      seconds(performance.now() - this.#startedAt),
    ].join(' · ')
  }
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const marks = { pending: '○', in_progress: '◐', completed: '●' } as const

/** Cuts lines that were formatted for a wider terminal. */
function fitting(line: string, columns: number): string {
  return cutTo(line, columns - 1)
}
