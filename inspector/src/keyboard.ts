import { linkTo, tabs } from './places.js'
import { place } from './route.js'

/**
 * Keys for all views: `j` and `k` move between entries, `/` searches, `u` returns to the list, digits choose the tabs
 * of a session. Keys with modifiers, and keys in fields, are left alone.
 */
export function listenToKeys(): void {
  addEventListener('keydown', (event) => {
    const { target, key } = event
    if (event.ctrlKey || event.metaKey || event.altKey || isField(target)) return
    if (!act(key)) return
    event.preventDefault()
  })
}

function act(key: string): boolean {
  const at = place.value
  if (key === 'j' || key === 'k') return moveFocus(key === 'j' ? 1 : -1)
  if (key === '/') return focusOn(document.querySelector<HTMLElement>('input[type="search"]'))
  if (key === 'u' && at.view !== 'sessions') {
    location.assign(linkTo({ view: 'sessions' }))
    return true
  }
  const tab = /^[1-9]$/.test(key) ? tabs[Number(key) - 1] : undefined
  if (at.view !== 'session' || tab === undefined) return false
  location.assign(linkTo({ view: 'session', sessionId: at.sessionId, tab }))
  return true
}

/** Entries are the heads of calls, what can be folded, and the links of a list. */
const entries = '.virtual .head, .virtual summary, .list .name a, .card .title a'

function moveFocus(step: 1 | -1): boolean {
  const all = [...document.querySelectorAll<HTMLElement>(entries)]
  const current = document.activeElement
  const at = all.findIndex((one) => one === current || one.closest('li')?.contains(current) === true)
  const first = step === 1 ? 0 : all.length - 1
  return focusOn(all[at < 0 ? first : at + step])
}

function focusOn(element: HTMLElement | null | undefined): boolean {
  element?.focus()
  element?.scrollIntoView({ block: 'nearest' })
  return element !== null && element !== undefined
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
}
