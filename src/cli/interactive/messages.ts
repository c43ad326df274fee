import { messageOf } from '../../tool/errors.js'
import { CommandLineError } from '../errors.js'
import { warningsOf } from '../setup/prepare.js'
import type { Colors } from '../terminal/colors.js'
import { safeLine, safeText } from '../terminal/safe-text.js'
import { wrapText } from '../terminal/wrap.js'
import type { Chat } from './chat.js'
import type { Guide } from './guide.js'

/** The lines at the start of a session. */
export function welcomeLines(
  { prepared, session }: Chat,
  guide: Guide | undefined,
  colors: Colors,
): string[] {
  const { dim, yellow, bold } = colors
  return [
    `${bold('capstan')} ${dim(`in ${safeLine(prepared.workspace, 300)} (/help lists commands and keys)`)}`,
    ...warningsOf(prepared, session).map((warning) => yellow(`warning: ${safeLine(warning, 500)}`)),
    ...(guide?.welcome(colors) ?? prepared.notes.map((note) => dim(safeLine(note, 500)))),
    '',
  ]
}

/** The prompt that was sent, printed above the empty input. */
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

/** Returns the last messages of a resumed session, and whether its last run was interrupted. */
export function recapLines(
  { session, interrupted }: Chat,
  { dim, yellow }: Colors,
  columns: number,
): string[] {
  const messages = session.messages().filter(({ role }) => role === 'user' || role === 'assistant')
  const cutOff =
    interrupted === undefined
      ? []
      : [
          `The last run was interrupted: "${safeLine(interrupted, 120)}".`,
          `Send a prompt, or complete that run with: capstan sessions resume ${safeLine(session.sessionId, 100)} --run`,
        ]
  const warning = cutOff.flatMap((line) => wrapText(line, columns - 1)).map(yellow)
  if (messages.length === 0) return warning.length === 0 ? [] : [...warning, '']
  const last = messages
    .slice(-4)
    .map(({ role, text }) => `  ${role === 'user' ? '›' : ' '} ${safeLine(text, columns - 6)}`)
  return [...[`resuming a session with ${messages.length} messages:`, ...last].map(dim), ...warning, '']
}

export function failureLines(error: unknown, { red, dim }: Colors): string[] {
  const hint = error instanceof CommandLineError ? error.hint : undefined
  return [
    red(`capstan: ${safeLine(messageOf(error), 1_000)}`),
    ...(hint === undefined ? [] : [dim(`hint: ${safeLine(hint, 500)}`)]),
    '',
  ]
}

/** The line at the end of a session: how to resume it, if it is stored. */
export function goodbye({ session, prepared }: Chat, { dim }: Colors): string {
  if (prepared.store === undefined || session.messages().length === 0) return ''
  return `${dim(`to resume: capstan --session ${safeLine(session.sessionId, 100)}`)}\n`
}
