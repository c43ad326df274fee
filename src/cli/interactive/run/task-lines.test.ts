import { describe, expect, it } from 'vitest'
import { colorsFor } from '../../terminal/colors.js'
import { TaskLines } from './task-lines.js'

const colors = colorsFor(
  { env: { NO_COLOR: '1' }, isTTY: { stdin: false, stdout: false, stderr: false } },
  'stdout',
)

function started(lines: TaskLines, taskId: string, agent: string, description: string): string[] {
  return lines.linesFor(
    { type: 'subagent_start', taskId, sessionId: `s-${taskId}`, parentSessionId: 'p', agent, description },
    colors,
    80,
  )
}

describe('the lines about subagents', () => {
  it('name the agent and the task when one starts, fails or ends', () => {
    const lines = new TaskLines()
    expect(started(lines, '1', 'explore', 'find the parser')).toEqual(['explore started: find the parser'])
    started(lines, '2', 'explore', 'find the tests')
    const end = { type: 'subagent_end', sessionId: 's', agent: 'explore', output: '' } as const
    expect(lines.linesFor({ ...end, taskId: '2', success: true }, colors, 80)).toEqual([
      'explore (find the tests) is done',
    ])
    expect(lines.linesFor({ ...end, taskId: '1', success: false, error: 'no budget' }, colors, 80)).toEqual([
      'explore (find the parser) failed: no budget',
    ])
  })

  it('show the state of each of several agents with the same name', () => {
    const lines = new TaskLines()
    started(lines, '1', 'explore', 'find the parser')
    started(lines, '2', 'explore', 'find the tests')
    const metadata = { rounds: 1, toolCalls: 1, totalTokens: 0 }
    const progress = {
      type: 'subagent_progress',
      taskId: '2',
      sessionId: 's',
      status: 'grep',
      metadata,
    } as const
    expect(lines.linesFor(progress, colors, 80)).toEqual([])
    expect(lines.live()).toEqual([
      'explore (find the parser)',
      'explore (find the tests): grep, 1 call so far',
    ])
  })

  it('show no control characters of a name or a description', () => {
    const lines = new TaskLines()
    expect(started(lines, '1', 'ex\u001b[31mplore', 'a\r\nb').join('')).not.toMatch(/\p{Cc}/u)
  })
})
