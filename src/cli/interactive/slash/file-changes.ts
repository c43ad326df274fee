import type { FileChangeInfo } from '../../../session/history/undo.js'
import { CapstanError, messageOf } from '../../../tool/errors.js'
import type { Colors } from '../../terminal/colors.js'
import { safeLine } from '../../terminal/safe-text.js'
import { diffLines } from '../ask/diff-lines.js'
import { excerpt } from '../ask/long-text.js'
import type { Chat } from '../chat.js'
import { counted } from '../run/figures.js'
import type { SlashCall, SlashOutcome } from './slash-command.js'

/** Restores the files of the last run that can be undone, and reports the result for each file. */
export async function undo(chat: Chat): Promise<SlashOutcome> {
  try {
    const { runId, restored, refused } = await chat.session.undo()
    const prompt = await chat.promptOf(runId)
    const run = prompt === undefined ? 'a run' : `the run "${safeLine(prompt, 80)}"`
    const head =
      restored.length === 0
        ? 'No file was restored.'
        : `Undid ${run}: ${counted(restored.length, 'file')} restored.`
    return {
      text: [
        head,
        ...restored.map((path) => `restored: ${safeLine(path, 300)}`),
        ...refused.map(({ path, why }) => `not restored: ${safeLine(path, 300)} (${safeLine(why, 300)})`),
      ].join('\n'),
    }
  } catch (error) {
    if (!(error instanceof CapstanError) || error.code !== 'nothing_to_undo') throw error
    return { text: safeLine(messageOf(error), 500) }
  }
}

/** Shows the file changes of the last run as diffs. */
export async function changes({ args, chat, colors, columns, page }: SlashCall): Promise<SlashOutcome> {
  const all = await chat.session.changes(undefined, { diff: true })
  if (all.length === 0) return { text: 'No run of this session has changed files with its tools.' }
  const whole = (width: number): string[] =>
    all.flatMap((change) => [...changeLines(change, colors, width), ''])
  if (args === 'all' && page !== undefined) {
    page('changes of the last run', whole)
    return {}
  }
  if (args === 'all') return { lines: whole(columns - 1) }
  const hidden = (count: number): string => colors.yellow(`⟨${count} more lines: type "/changes all"⟩`)
  return {
    lines: all.flatMap((change) => [
      ...excerpt(changeLines(change, colors, columns - 1), maxLines, hidden),
      '',
    ]),
  }
}

const maxLines = 80

function changeLines(
  { path, kind, added, removed, undone, whyNot, diff }: FileChangeInfo,
  colors: Colors,
  columns: number,
): string[] {
  const count = added === undefined ? '' : ` (+${added} -${removed ?? 0})`
  const state = undone ? ', restored' : whyNot === undefined ? '' : `, ${safeLine(whyNot, 300)}`
  const head = `${kind} ${safeLine(path, 300)}${count}${state}`
  // The first line of a diff is the file name, which is already in the heading.
  const hunks = diff === undefined ? [] : diffLines(diff.slice(diff.indexOf('\n') + 1), colors, columns)
  return [...diffLines(head, colors, columns), ...hunks]
}
