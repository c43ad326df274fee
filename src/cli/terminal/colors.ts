import picocolors from 'picocolors'
import type { Io } from '../io.js'

type Paint = (text: string) => string

/** The styles that the command uses. */
export type Colors = {
  readonly enabled: boolean
  readonly bold: Paint
  readonly dim: Paint
  readonly italic: Paint
  readonly underline: Paint
  readonly strikethrough: Paint
  readonly inverse: Paint
  readonly red: Paint
  readonly green: Paint
  readonly yellow: Paint
  readonly blue: Paint
  readonly magenta: Paint
  readonly cyan: Paint
  readonly gray: Paint
}

/**
 * Colors for a stream: off if it is not a terminal, `TERM` is dumb or `NO_COLOR` is set. `FORCE_COLOR` turns them on.
 */
export function colorsFor({ env, isTTY }: Pick<Io, 'env' | 'isTTY'>, stream: 'stdout' | 'stderr'): Colors {
  const wanted = isSet(env['FORCE_COLOR']) && env['FORCE_COLOR'] !== '0'
  const enabled = !isSet(env['NO_COLOR']) && (wanted || (isTTY[stream] && env['TERM'] !== 'dumb'))
  const paint = picocolors.createColors(enabled)
  const { bold, dim, italic, underline, strikethrough, inverse } = paint
  const { red, green, yellow, blue, magenta, cyan, gray } = paint
  const styles = { bold, dim, italic, underline, strikethrough, inverse }
  return { enabled, ...styles, red, green, yellow, blue, magenta, cyan, gray }
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}
