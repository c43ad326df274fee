import type { Colors } from '../terminal/colors.js'

/** Somebody who says what to try next. */
export interface Guide {
  welcome(colors: Colors): readonly string[]
  /** What an empty line stands for. */
  suggestion(): string | undefined
  /** What to know after this was sent and done. */
  sent(text: string, colors: Colors): readonly string[]
}
