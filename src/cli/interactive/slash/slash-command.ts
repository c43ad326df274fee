import type { Chat } from '../chat.js'

/** What a command of the interactive session may use. */
export type SlashCall = {
  readonly args: string
  readonly chat: Chat
  /** Lets a person choose; undefined where nobody can. */
  choose?(title: string, labels: readonly string[]): Promise<number | undefined>
}

export type SlashOutcome = {
  /** What to tell, made safe already. */
  readonly says?: string
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
