import picocolors from 'picocolors'
import type { Io } from '../io.js'

type Style = 'bold' | 'dim' | 'italic' | 'underline' | 'strikethrough' | 'inverse'
type Color = 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'gray'

/** The styles that the command uses. */
export type Colors = { readonly enabled: boolean } & Readonly<Record<Style | Color, (text: string) => string>>

/**
 * Colors for a stream: off if it is not a terminal, `TERM` is dumb or `NO_COLOR` is set. `FORCE_COLOR` turns them on.
 */
export function colorsFor({ env, isTTY }: Pick<Io, 'env' | 'isTTY'>, stream: 'stdout' | 'stderr'): Colors {
  const wanted = isSet(env['FORCE_COLOR']) && env['FORCE_COLOR'] !== '0'
  const enabled = !isSet(env['NO_COLOR']) && (wanted || (isTTY[stream] && env['TERM'] !== 'dumb'))
  return { enabled, ...picocolors.createColors(enabled) }
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}
