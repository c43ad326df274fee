import type { Colors } from '../../terminal/colors.js'
import type { Chat } from '../chat.js'

/** What a command of the interactive session may use. */
export type SlashCall = {
  readonly args: string
  readonly chat: Chat
  readonly colors: Colors
  readonly columns: number
  /** Opens a pager; undefined where there is no terminal for one. */
  page?(title: string, lines: (columns: number) => readonly string[]): void
  /** Lets the user choose; undefined where that is not possible. */
  choose?(title: string, labels: readonly string[]): Promise<number | undefined>
}

export type SlashOutcome = {
  /** What to print, safe already. */
  readonly says?: string
  /** Lines to print as they are, safe already and none too wide. */
  readonly lines?: readonly string[]
  /** The session ends. */
  readonly leave?: true
  /** What is put into the input, to be changed and sent. */
  readonly draft?: string
  /** Sent after what goes on now. */
  readonly later?: string
  /** What is on the screen is of another conversation. */
  readonly recap?: true
}

export type SlashCommand = {
  readonly name: string
  readonly usage?: string
  readonly description: string
  /** What may stand behind the name. */
  complete?(chat: Chat): readonly string[]
  run(call: SlashCall): SlashOutcome | Promise<SlashOutcome>
}
