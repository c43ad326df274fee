import type { AgentEvent } from '../../../loop/events.js'
import { isRecord } from '../../../tool/json.js'
import { describingArgument } from '../../../tool/tool-title.js'
import type { Colors } from '../../terminal/colors.js'
import { plainOutput, safeLine } from '../../terminal/safe-text.js'
import { cutTo } from '../../terminal/width.js'
import { wrapText } from '../../terminal/wrap.js'
import { diffLines } from '../ask/diff-lines.js'
import { excerpt } from '../ask/long-text.js'

/** Describes a call briefly: its tool and its most important argument. */
export function callTitle(toolName: string, args: string): { readonly name: string; readonly about: string } {
  const name = safeLine(toolName, 60)
  try {
    const value: unknown = JSON.parse(args === '' ? '{}' : args)
    if (!isRecord(value)) return { name, about: safeLine(args, 300) }
    // The interactive session shows the content of these calls in another place.
    if (shownElsewhere.has(toolName)) return { name, about: '' }
    const about = describingArgument(value)
    if (about !== undefined) return { name, about: safeLine(about, 300) }
    return { name, about: Object.keys(value).length === 0 ? '' : safeLine(args, 300) }
  } catch {
    // The arguments are not JSON, so they are shown as text.
    return { name, about: safeLine(args, 300) }
  }
}

const shownElsewhere: ReadonlySet<string> = new Set(['question', 'todo'])

/** Describes the end of a call: one line, and a part of its output. */
export function endedLines(
  { toolName, toolOutput, isError, exitCode }: Extract<AgentEvent, { type: 'tool_end' }>,
  about: string,
  took: string,
  colors: Colors,
  columns: number,
): string[] {
  const { green, red, bold, dim } = colors
  const name = safeLine(toolName, 60)
  const room = Math.max(12, columns - 4)
  const failed = isError || exitCode !== 0
  const code = exitCode !== 0 && !isError ? `, exit code ${exitCode}` : ''
  const end = ` (${took}${code})`
  const title = cutTo(about, Math.max(8, room - name.length - end.length))
  const head = `${failed ? red('✗') : green('✓')} ${bold(name)}${title === '' ? '' : ` ${title}`}${dim(end)}`
  // Only the end of a long output is read, because only that is shown.
  const said = toolOutput.slice(0, 200) + toolOutput.slice(200).slice(-20_000)
  const output = plainOutput(said).replaceAll('\t', '    ').trim()
  const lines = output === '' ? [] : output.split('\n')
  // The reason for a failure can take up to three lines.
  const fitted = (line: string): string[] => (failed ? wrapText(line, room).slice(0, 3) : [cutTo(line, room)])
  return [
    head,
    ...outputLines(toolName, lines, failed)
      .flatMap(fitted)
      .map((line) => dim(`    ${line}`)),
  ]
}

/** The diffs of changed files, each cut to a number of lines. */
export function editedLines(diffs: readonly string[], colors: Colors, columns: number): string[] {
  const hidden = (count: number): string => colors.yellow(`⟨${count} more lines: type /changes⟩`)
  return diffs.flatMap((diff) =>
    excerpt(diffLines(diff, colors, Math.max(12, columns - 6)), maxDiffLines, hidden).map(
      (line) => `    ${line}`,
    ),
  )
}

const maxDiffLines = 40

function outputLines(toolName: string, lines: readonly string[], failed: boolean): string[] {
  if (toolName === 'question' && !failed) return []
  if (failed) return [...lines.slice(0, 6), ...more(lines.length - 6)]
  if (toolName === 'bash')
    return [...(lines.length > 8 ? [`… ${lines.length - 8} more lines`] : []), ...lines.slice(-8)]
  const max = lines.length === 1 ? 1 : (shownLines[toolName] ?? 0)
  return max === 0 ? [`${lines.length} lines`] : [...lines.slice(0, max), ...more(lines.length - max)]
}

/**
 * How many lines of output are shown, by tool. For tools whose output is meant for the model, only the number of lines
 * is shown.
 */
const shownLines: Readonly<Record<string, number>> = { edit: 4, write: 4, patch: 6, ls: 6, git: 8, todo: 12 }

function more(count: number): string[] {
  return count > 0 ? [`… ${count} more lines`] : []
}
