import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { count } from './format.js'
import type { Complete, CutEvent } from './load-session.js'

/** Above this, a text is read only when the user asks for it. */
const maxAutomatic = 200_000

/**
 * Reads the missing part of the texts of an entry when the entry is shown or, if that part is long and `isAsked` is
 * true, when the user presses a button.
 */
export function Rest({
  cut,
  complete,
  isAsked = false,
}: {
  readonly cut: readonly CutEvent[] | undefined
  readonly complete: Complete
  readonly isAsked?: boolean
}): JSX.Element | null {
  const chars = (cut ?? []).reduce((sum, one) => sum + one.chars, 0)
  const isAutomatic = !isAsked || chars <= maxAutomatic
  useEffect(() => {
    if (cut !== undefined && isAutomatic) complete(cut)
  }, [chars, isAutomatic])
  if (cut === undefined || chars === 0) return null
  if (isAutomatic) return <p class="quiet">Reading {count(chars, 'more character')}…</p>
  return (
    <button type="button" onClick={() => complete(cut)}>
      Read the rest ({count(chars, 'character')})
    </button>
  )
}
