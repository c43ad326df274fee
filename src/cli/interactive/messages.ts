import { messageOf } from '../../tool/errors.js'
import { CommandLineError } from '../errors.js'
import { warningsOf } from '../setup/prepare.js'
import type { Colors } from '../terminal/colors.js'
import { safeLine, safeText } from '../terminal/safe-text.js'
import { wrapText } from '../terminal/wrap.js'
import type { Chat } from './chat.js'
import type { Guide } from './guide.js'

/** The first words. */
export function welcomeLines(
  { prepared, session }: Chat,
  guide: Guide | undefined,
  colors: Colors,
): string[] {
  const { dim, yellow, bold } = colors
  return [
    `${bold('capstan')} ${dim(`in ${safeLine(prepared.workspace, 300)}; /help says what can be typed`)}`,
    ...warningsOf(prepared, session).map((warning) => yellow(`warning: ${safeLine(warning, 500)}`)),
    ...(guide?.welcome(colors) ?? prepared.notes.map((note) => dim(safeLine(note, 500)))),
    '',
  ]
}

/** What was sent, once more: the input is empty by then. */
export function echoLines(
  text: string,
  more: string,
  { cyan, bold, dim }: Colors,
  columns: number,
): string[] {
  const lines = wrapText(safeText(text).replaceAll('\t', '  '), columns - 3)
  const end = lines.length - 1
  const row = (line: string, at: number): string =>
    `${at === 0 ? cyan('› ') : '  '}${bold(line)}${at === end && more !== '' ? dim(` (${more})`) : ''}`
  return [...lines.map(row), '']
}

/** The last messages of a session that is resumed, and whether its last run was interrupted. */
export function recapLines(
  { session, interrupted }: Chat,
  { dim, yellow }: Colors,
  columns: number,
): string[] {
  const said = session.messages().filter(({ role }) => role === 'user' || role === 'assistant')
  const cutOff =
    interrupted === undefined
      ? []
      : [
          `The last run was interrupted before it ended: "${safeLine(interrupted, 120)}".`,
          `Say what to do next, or complete it with: capstan sessions resume ${safeLine(session.sessionId, 100)} --run`,
        ]
  const warning = cutOff.flatMap((line) => wrapText(line, columns - 1)).map(yellow)
  if (said.length === 0) return warning.length === 0 ? [] : [...warning, '']
  const last = said
    .slice(-4)
    .map(({ role, text }) => `  ${role === 'user' ? '›' : ' '} ${safeLine(text, columns - 6)}`)
  return [...[`going on with a session of ${said.length} messages:`, ...last].map(dim), ...warning, '']
}

export function failureLines(error: unknown, { red, dim }: Colors): string[] {
  const hint = error instanceof CommandLineError ? error.hint : undefined
  return [
    red(`capstan: ${safeLine(messageOf(error), 1_000)}`),
    ...(hint === undefined ? [] : [dim(`hint: ${safeLine(hint, 500)}`)]),
    '',
  ]
}

/** The last words, where there is something to come back to. */
export function goodbye({ session, prepared }: Chat, { dim }: Colors): string {
  if (prepared.store === undefined || session.messages().length === 0) return ''
  return `${dim(`go on with it: capstan --session ${safeLine(session.sessionId, 100)}`)}\n`
}
