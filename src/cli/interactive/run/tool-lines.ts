import type { AgentEvent } from '../../../loop/events.js'
import { isRecord } from '../../../tool/json.js'
import type { Colors } from '../../terminal/colors.js'
import { plainOutput, safeLine } from '../../terminal/safe-text.js'
import { cutTo } from '../../terminal/width.js'
import { wrapText } from '../../terminal/wrap.js'
import { diffLines } from '../ask/diff-lines.js'
import { excerpt } from '../ask/long-text.js'

/** A call in a few words: its tool, and what it is about. */
export function callTitle(toolName: string, args: string): { readonly name: string; readonly about: string } {
  const name = safeLine(toolName, 60)
  try {
    const value: unknown = JSON.parse(args === '' ? '{}' : args)
    if (!isRecord(value)) return { name, about: safeLine(args, 300) }
    // What they hold is shown to people in their own way.
    if (shownElsewhere.has(toolName)) return { name, about: '' }
    const telling = tellingFields.map((field) => value[field]).find((each) => typeof each === 'string')
    if (typeof telling === 'string') return { name, about: safeLine(telling, 300) }
    return { name, about: Object.keys(value).length === 0 ? '' : safeLine(args, 300) }
  } catch {
    // The model wrote something that is no JSON: that is what there is to show.
    return { name, about: safeLine(args, 300) }
  }
}

const shownElsewhere: ReadonlySet<string> = new Set(['question', 'todo'])

/** What says most about a call, the most telling first. */
const tellingFields = [
  'command',
  'file_path',
  'path',
  'pattern',
  'query',
  'url',
  'description',
  'name',
  'prompt',
]

/** How a call ended: a line, and a little of what it gave. */
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
  // A long output is looked at from its end only: that is what is shown.
  const said = toolOutput.slice(0, 200) + toolOutput.slice(200).slice(-20_000)
  const output = plainOutput(said).replaceAll('\t', '    ').trim()
  const lines = output === '' ? [] : output.split('\n')
  // Why something failed is worth a second line.
  const fitted = (line: string): string[] => (failed ? wrapText(line, room).slice(0, 3) : [cutTo(line, room)])
  return [
    head,
    ...outputLines(toolName, lines, failed)
      .flatMap(fitted)
      .map((line) => dim(`    ${line}`)),
  ]
}

/** Diffs of files that were changed, each as far as it has room. */
export function editedLines(diffs: readonly string[], colors: Colors, columns: number): string[] {
  const hidden = (count: number): string => colors.yellow(`⟨${count} more lines: /changes shows all⟩`)
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
  const most = lines.length === 1 ? 1 : (shownLines[toolName] ?? 0)
  return most === 0 ? [`${lines.length} lines`] : [...lines.slice(0, most), ...more(lines.length - most)]
}

/** Tools whose result is for the model rather than for people are told by its length. */
const shownLines: Readonly<Record<string, number>> = { edit: 4, write: 4, patch: 6, ls: 6, git: 8, todo: 12 }

function more(count: number): string[] {
  return count > 0 ? [`… ${count} more lines`] : []
}
