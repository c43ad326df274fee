import { signal } from '@preact/signals'

/** What the page shows. It is in the address, so that every view and every call has a link. */
export type Place =
  | { readonly view: 'sessions' }
  | {
      readonly view: 'session'
      readonly sessionId: string
      readonly tab: Tab
      readonly call?: string | undefined
    }
  | { readonly view: 'compare'; readonly left: string; readonly right: string }

export const tabs = ['timeline', 'usage', 'changes', 'tools'] as const
export type Tab = (typeof tabs)[number]

export const place = signal<Place>(readPlace(location.hash))
addEventListener('hashchange', () => {
  place.value = readPlace(location.hash)
})

/** The address of a place. */
export function linkTo(to: Place): string {
  if (to.view === 'sessions') return '#/'
  if (to.view === 'compare') return `#/compare/${encodeURIComponent(to.left)}/${encodeURIComponent(to.right)}`
  const call = to.call === undefined ? '' : `/${encodeURIComponent(to.call)}`
  return `#/sessions/${encodeURIComponent(to.sessionId)}/${to.tab}${call}`
}

function readPlace(hash: string): Place {
  const [kind, one = '', two = '', three] = hash.replace(/^#\/?/, '').split('/').map(decoded)
  if (kind === 'sessions' && one !== '') {
    const tab = tabs.find((name) => name === two) ?? 'timeline'
    return { view: 'session', sessionId: one, tab, call: three === '' ? undefined : three }
  }
  if (kind === 'compare' && one !== '' && two !== '') return { view: 'compare', left: one, right: two }
  return { view: 'sessions' }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}
