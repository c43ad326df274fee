import type { Colors } from '../terminal/colors.js'

/** Suggests what to try next. */
export interface Guide {
  welcome(colors: Colors): readonly string[]
  /** The prompt that is sent for an empty input. */
  suggestion(): string | undefined
  /** Lines to print after this prompt is done. */
  sent(text: string, colors: Colors): readonly string[]
}
