import { analyzeCommand } from '../../../authority/shell/analyze-command.js'
import type { AskRequest } from '../../../loop/ask.js'
import type { DryRun } from '../../../session/history/dry-run.js'
import { isRecord } from '../../../tool/json.js'
import type { Colors } from '../../terminal/colors.js'
import { safeJson, safeLine, safeText } from '../../terminal/safe-text.js'
import { breakLine, wrapText } from '../../terminal/wrap.js'
import { diffLines } from './diff-lines.js'
import { excerpt, foldedText, sizeOf, strangeLetters } from './long-text.js'
import { questionTitle } from './question-title.js'

/** A call as it is shown to the user for approval. All lines are safe to print. */
export type DescribedAsk = {
  /** The question in one line, which names the call. */
  readonly title: string
  /** The call in at most `rows` lines, with the number of lines that do not fit. */
  about(columns: number, rows: number): string[]
  /** The whole call, with nothing folded or cut. */
  whole(columns: number): string[]
}

export function describeAsk(request: AskRequest, preview: DryRun | undefined, colors: Colors): DescribedAsk {
  const { yellow, bold, dim } = colors
  const asker = request.run?.agentId
  const by = asker === undefined || asker === 'capstan' ? '' : dim(` by ${safeLine(asker, 60)}`)
  const head = `${yellow('?')} ${bold(safeLine(request.toolName, 80))}${by}`
  const body = bodyOf(request, preview, colors)
  const reasons = reasonsOf(request)
  return {
    title: questionTitle(request),
    about(columns, rows) {
      const room = Math.max(10, columns - 4)
      const below = [
        ...reasons.flatMap((reason) => wrapText(safeLine(reason, 500), room)).map(dim),
        ...request.notes.flatMap((note) => shortNote(note, room)).map(yellow),
      ].slice(0, Math.max(2, Math.floor(rows / 2)))
      const above = body.above(room)
      const left = Math.max(minBodyRows, rows - 1 - above.length - below.length)
      const shown = excerpt(body.lines(room), left, (hidden) => yellow(`⟨${hidden} more lines: press v⟩`))
      return [head, ...[...above, ...shown, ...below].map((line) => `  ${line}`)]
    },
    whole(columns) {
      const exact = (text: string): string[] =>
        safeText(text)
          .replaceAll('\t', '    ')
          .split('\n')
          .flatMap((line) => breakLine(line, columns))
      return [
        head,
        '',
        ...body.whole(columns),
        '',
        ...reasons.flatMap(exact).map(dim),
        ...request.notes.flatMap((note) => exact(`note: ${note}`)).map(yellow),
        ...(preview === undefined || !('diffs' in preview) || preview.diffs.length === 0
          ? []
          : ['', dim('arguments:'), ...exact(safeJson(request.args, 2))]),
      ]
    },
  }
}

const minBodyRows = 4

function shortNote(note: string, room: number): string[] {
  return wrapText(`note: ${safeLine(note, 500)}`, room).slice(0, 3)
}

/** Returns the reasons. The commands are listed above them, so several commands that no rule covers share one line. */
function reasonsOf({ reasons, uncoveredCommands = [] }: AskRequest): readonly string[] {
  if (uncoveredCommands.length < 2) return reasons
  const others = reasons.filter((reason) => !uncoveredCommands.includes(reason))
  return [`no rule covers ${uncoveredCommands.length} of these commands`, ...others]
}

type Body = {
  /** Lines that are always shown: warnings about the rest. */
  above(room: number): readonly string[]
  /** The call; long runs of spaces are counted instead of shown. */
  lines(room: number): readonly string[]
  whole(columns: number): readonly string[]
}

function bodyOf(request: AskRequest, preview: DryRun | undefined, colors: Colors): Body {
  const diffs =
    request.diff !== undefined
      ? [request.diff]
      : preview !== undefined && 'diffs' in preview && preview.diffs.length > 0
        ? preview.diffs
        : undefined
  if (diffs !== undefined) {
    const lines = (room: number): string[] => diffs.flatMap((diff) => diffLines(diff, colors, room))
    return { above: () => [], lines: remembered(lines), whole: lines }
  }
  const { args } = request
  const command = isRecord(args) && typeof args['command'] === 'string' ? args['command'] : undefined
  if (command !== undefined && request.subjects.some((subject) => 'shell' in subject))
    return commandBody(command, args, colors)
  const json = safeJson(args, 2)
  return {
    above: (room) =>
      preview !== undefined && 'whyNot' in preview
        ? wrapText(`it would fail: ${safeLine(preview.whyNot, 300)}`, room).map(colors.yellow)
        : [],
    lines: remembered((room) => foldedText(json, room)),
    whole: (columns) => json.split('\n').flatMap((line) => breakLine(line, columns)),
  }
}

function commandBody(command: string, args: unknown, colors: Colors): Body {
  const { cyan, dim, yellow } = colors
  const size = sizeOf(command)
  const strange = strangeLetters(command)
  const { units, doubts } = analyzeCommand(command)
  const parts = units.filter(({ transparent }) => transparent !== true)
  const listed = (max: number, room: number): string[] =>
    parts.length < 2
      ? []
      : [
          dim('it runs:'),
          ...parts
            .slice(0, max)
            .flatMap(({ text }) =>
              wrapText(`  · ${safeLine(text, max === Infinity ? text.length * 4 : 300)}`, room, '    '),
            )
            .map(dim),
          ...(parts.length > max ? [yellow(`  · and ${parts.length - max} more commands`)] : []),
        ]
  const rest = (room: number): string[] =>
    otherArguments(args).flatMap(([name, value]) =>
      wrapText(`${safeLine(name, 40)}: ${safeLine(safeJson(value), 300)}`, room).map(dim),
    )
  return {
    above: (room) => [
      ...(size === undefined ? [] : [dim(size)]),
      ...[...(strange === undefined ? [] : [strange]), ...doubts.map((doubt) => safeLine(doubt, 300))]
        .flatMap((warning) => wrapText(warning, room))
        .map(yellow),
    ],
    lines: remembered((room) => [
      ...foldedText(command, room - 2).map((line, at) => cyan(at === 0 ? `$ ${line}` : `  ${line}`)),
      ...listed(20, room),
      ...rest(room),
    ]),
    whole: (columns) => [
      ...safeText(command)
        .replaceAll('\t', '    ')
        .split('\n')
        .flatMap((line) => breakLine(line, columns))
        .map(cyan),
      '',
      ...(size === undefined ? [] : [dim(size)]),
      ...(strange === undefined ? [] : [yellow(strange)]),
      ...doubts.flatMap((doubt) => breakLine(safeText(doubt), columns)).map(yellow),
      ...listed(Infinity, columns),
      ...otherArguments(args).flatMap(([name, value]) =>
        breakLine(`${safeText(name)}: ${safeJson(value)}`, columns).map(dim),
      ),
    ],
  }
}

function otherArguments(args: unknown): [string, unknown][] {
  return isRecord(args) ? Object.entries(args).filter(([name]) => name !== 'command') : []
}

/** Caches the lines for one width, because a question is drawn many times. */
function remembered(lines: (room: number) => readonly string[]): (room: number) => readonly string[] {
  let last: { readonly room: number; readonly lines: readonly string[] } | undefined
  return (room) => {
    if (last?.room !== room) last = { room, lines: lines(room) }
    return last.lines
  }
}
