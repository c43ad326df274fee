import type { Colors } from '../../terminal/colors.js'
import type { Chat } from '../chat.js'

/** The input of a slash command. */
export type SlashCall = {
  readonly args: string
  readonly chat: Chat
  readonly colors: Colors
  readonly columns: number
  /** Opens a pager; undefined without a terminal. */
  page?(title: string, lines: (columns: number) => readonly string[]): void
  /** Asks the user to choose; undefined without a terminal. */
  choose?(title: string, labels: readonly string[]): Promise<number | undefined>
}

export type SlashOutcome = {
  /** Text to print. It is safe to print, and is wrapped. */
  readonly text?: string
  /** Lines to print unchanged. They are safe to print and not too wide. */
  readonly lines?: readonly string[]
  /** Ends the session. */
  readonly leave?: true
  /** Text for the input, which the user can edit and send. */
  readonly draft?: string
  /** A prompt that is sent after the current run. */
  readonly later?: string
  /** The session has changed: shows its last messages. */
  readonly recap?: true
}

export type SlashCommand = {
  readonly name: string
  readonly usage?: string | undefined
  readonly description: string
  /** Completions of the arguments. */
  complete?(chat: Chat): readonly string[]
  run(call: SlashCall): SlashOutcome | Promise<SlashOutcome>
}
