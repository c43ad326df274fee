const focusable =
  'a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary, [tabindex="0"]'

/**
 * Preserves the keyboard focus: when the focused element is removed, such as a button that was used, the element in its
 * place gets the focus; in a new view, the heading.
 */
export function keepFocus(): void {
  let last: Focused | undefined
  addEventListener('focusin', ({ target }) => {
    last = target instanceof HTMLElement ? focusedAt(target) : undefined
  })
  new MutationObserver(() => {
    if (last === undefined || last.element.isConnected || document.activeElement !== document.body) return
    const { main, places } = last
    last = undefined
    if (main?.isConnected !== true) focusOnHeading()
    else nearest(places)?.focus()
  }).observe(document.body, { childList: true, subtree: true })
}

type Place = { readonly inside: HTMLElement; readonly at: number }
type Focused = {
  readonly element: HTMLElement
  readonly main: HTMLElement | null
  /** How many elements that can have the focus come before it, in each element around it. */
  readonly places: readonly Place[]
}

function focusedAt(element: HTMLElement): Focused {
  const main = element.closest('main')
  const places: Place[] = []
  for (let inside = element.parentElement; inside !== null && main !== null; inside = inside.parentElement) {
    const all = [...inside.querySelectorAll<HTMLElement>(focusable)]
    places.push({ inside, at: all.indexOf(element) })
    if (inside === main) break
  }
  return { element, main, places }
}

function nearest(places: readonly Place[]): HTMLElement | undefined {
  for (const { inside, at } of places) {
    const all = inside.isConnected ? [...inside.querySelectorAll<HTMLElement>(focusable)] : []
    const found = all[Math.min(Math.max(at, 0), all.length - 1)]
    if (found !== undefined) return found
  }
  return undefined
}

function focusOnHeading(): void {
  const heading = document.querySelector<HTMLElement>('main h1')
  if (heading === null) return
  heading.tabIndex = -1
  heading.focus()
}
