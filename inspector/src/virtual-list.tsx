import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

const estimatedHeight = 48
const margin = 600
const usersActions = ['wheel', 'pointerdown', 'keydown'] as const

/** A list of which only the rows near the visible part are in the document. Rows can have any height. */
export function VirtualList<Row extends { readonly key: string }>({
  rows,
  render,
  label,
  scrollTo,
  followsEnd = false,
}: {
  readonly rows: readonly Row[]
  readonly render: (row: Row) => ComponentChildren
  readonly label: string
  /** The key of the row to show first. */
  readonly scrollTo?: string | undefined
  /** Whether the list stays at its end while rows are added. */
  readonly followsEnd?: boolean
}): JSX.Element {
  const box = useRef<HTMLElement>(null)
  const heights = useRef(new Map<string, number>())
  const isAtEnd = useRef(followsEnd)
  const [view, setView] = useState({ top: 0, height: 800 })
  const [, setMeasured] = useState(0)

  const offsets: number[] = [0]
  for (const { key } of rows)
    offsets.push((offsets.at(-1) ?? 0) + (heights.current.get(key) ?? estimatedHeight))
  const total = offsets.at(-1) ?? 0
  const first = Math.max(0, below(offsets, view.top - margin) - 1)
  const last = Math.min(rows.length, below(offsets, view.top + view.height + margin) + 1)

  useEffect(() => {
    const element = box.current
    if (element === null) return
    if (element.scrollTop === 0) isAtEnd.current = followsEnd
    const read = (): void => {
      if (element.scrollTop + element.clientHeight >= element.scrollHeight - 40) isAtEnd.current = followsEnd
      setView({ top: element.scrollTop, height: element.clientHeight })
    }
    read()
    // The row that the user opens or scrolls to must not move.
    const stay = (): void => {
      isAtEnd.current = false
    }
    element.addEventListener('scroll', read, { passive: true })
    for (const type of usersActions) element.addEventListener(type, stay, { passive: true })
    const sizes = new ResizeObserver(read)
    sizes.observe(element)
    return () => {
      element.removeEventListener('scroll', read)
      for (const type of usersActions) element.removeEventListener(type, stay)
      sizes.disconnect()
    }
  }, [followsEnd])

  // Rows are measured after they were drawn; a row that grew moves those after it.
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const measure = (): void => {
      let changed = false
      for (const row of element.querySelectorAll<HTMLElement>(':scope > .rows > [data-key]')) {
        const key = row.dataset['key'] ?? ''
        const height = row.offsetHeight
        if (heights.current.get(key) !== height) {
          heights.current.set(key, height)
          changed = true
        }
      }
      if (changed) setMeasured((count) => count + 1)
    }
    measure()
    const sizes = new ResizeObserver(measure)
    for (const row of element.querySelectorAll(':scope > .rows > [data-key]')) sizes.observe(row)
    return () => sizes.disconnect()
  })

  useLayoutEffect(() => {
    const element = box.current
    if (element !== null && isAtEnd.current && scrollTo === undefined)
      element.scrollTop = element.scrollHeight
  }, [rows.length, total, scrollTo])

  useEffect(() => {
    const element = box.current
    const at = scrollTo === undefined ? -1 : rows.findIndex(({ key }) => key === scrollTo)
    if (element !== null && at >= 0) element.scrollTop = (offsets[at] ?? 0) - 16
  }, [scrollTo, rows.length > 0])

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
    <section class="virtual" ref={box} tabIndex={0} aria-label={label}>
      <ol class="rows" style={{ paddingTop: `${offsets[first] ?? 0}px`, height: `${total}px` }}>
        {rows.slice(first, last).map((row, at) => (
          <li key={row.key} data-key={row.key} aria-setsize={rows.length} aria-posinset={first + at + 1}>
            {render(row)}
          </li>
        ))}
      </ol>
    </section>
  )
}

/** The number of offsets below a position. */
function below(offsets: readonly number[], position: number): number {
  let [low, high] = [0, offsets.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((offsets[middle] ?? 0) < position) low = middle + 1
    else high = middle
  }
  return low
}
