import { analyzeCommand } from '../../../authority/shell/analyze-command.js'
import type { AskRequest } from '../../../loop/ask.js'
import { isRecord } from '../../../tool/json.js'
import { ownWords } from '../../own-words.js'
import type { Colors } from '../../terminal/colors.js'
import { safeJson, safeLine } from '../../terminal/safe-text.js'
import { cutTo } from '../../terminal/width.js'
import { wrapText } from '../../terminal/wrap.js'
import { diffLines } from './diff-lines.js'
import type { DryRun } from './dry-run.js'
import { longText, sizeOf, strangeLetters } from './long-text.js'

/** All that a person needs to see before they agree to a call. */
export function describeAsk(
  request: AskRequest,
  preview: DryRun | undefined,
  colors: Colors,
  columns: number,
): string[] {
  const { yellow, bold, dim } = colors
  const room = Math.max(20, columns - 4)
  const asker = request.run?.agentId
  const by = asker === undefined || asker === 'capstan' ? '' : dim(` by ${safeLine(asker, 60)}`)
  const body = bodyOf(request, preview, colors, room)
  const reasons = together(request.reasons.map(ownWords))
  const notes = request.notes.map((note) => yellow(`note: ${safeLine(note, 500)}`))
  return [
    `${yellow('?')} ${bold(safeLine(request.toolName, 80))}${by}`,
    ...[
      ...body,
      ...reasons.flatMap((reason) => wrapText(safeLine(reason, 500), room)).map(dim),
      ...notes,
    ].map((line) => `  ${line}`),
  ]
}

/** The parts of a command are listed already: several that no rule covers need no line each. */
function together(reasons: readonly string[]): string[] {
  const isPart = (reason: string): boolean => reason.startsWith('no rule covers running ')
  const parts = reasons.filter(isPart).length
  if (parts < 2) return [...reasons]
  return [`no rule covers ${parts} of these commands`, ...reasons.filter((reason) => !isPart(reason))]
}

function bodyOf(request: AskRequest, preview: DryRun | undefined, colors: Colors, room: number): string[] {
  if (request.diff !== undefined) return diffLines(request.diff, colors, room)
  if (preview !== undefined && 'diffs' in preview && preview.diffs.length > 0)
    return preview.diffs.flatMap((diff) => diffLines(diff, colors, room))
  const whyNot =
    preview !== undefined && 'whyNot' in preview
      ? [colors.yellow(cutTo(`it would fail: ${safeLine(preview.whyNot, 300)}`, room))]
      : []
  const { args } = request
  const command = isRecord(args) && typeof args['command'] === 'string' ? args['command'] : undefined
  if (command !== undefined && request.subjects.some((subject) => 'shell' in subject))
    return [...commandLines(command, colors, room), ...restOf(args, colors, room)]
  return [...whyNot, ...longText(safeJson(args, 2) ?? '', room)]
}

function commandLines(command: string, { cyan, dim, yellow }: Colors, room: number): string[] {
  const size = sizeOf(command)
  const strange = strangeLetters(command)
  const { units, doubts } = analyzeCommand(command)
  const parts = units.filter(({ transparent }) => transparent !== true)
  return [
    ...longText(command, room - 2).map((line, at) => cyan(at === 0 ? `$ ${line}` : `  ${line}`)),
    ...(size === undefined ? [] : [dim(size)]),
    ...(strange === undefined ? [] : [yellow(cutTo(strange, room))]),
    ...(parts.length > 1
      ? [
          dim('it runs:'),
          ...parts.slice(0, 20).map(({ text }) => dim(cutTo(`  · ${safeLine(text, 300)}`, room))),
        ]
      : []),
    ...(parts.length > 20 ? [yellow(`  · and ${parts.length - 20} more commands`)] : []),
    ...doubts.map((doubt) => yellow(cutTo(safeLine(doubt, 300), room))),
  ]
}

/** What a command is called with beside itself. */
function restOf(args: unknown, { dim }: Colors, room: number): string[] {
  if (!isRecord(args)) return []
  const rest = Object.entries(args).filter(([name]) => name !== 'command')
  return rest.map(([name, value]) =>
    dim(cutTo(`${safeLine(name, 40)}: ${safeLine(safeJson(value) ?? '', 300)}`, room)),
  )
}
