/** What the page shows. It is part of the URL, so that every view and every call has a link. */
export type Place =
  | { readonly view: 'sessions'; readonly filters?: SessionFilters | undefined }
  | { readonly view: 'schedules' }
  | { readonly view: 'queues' }
  | {
      readonly view: 'session'
      readonly sessionId: string
      readonly tab: Tab
      readonly call?: string | undefined
    }
  | { readonly view: 'compare'; readonly left: string; readonly right: string }

/** The views that the head of the page has links to. */
export const mainViews = ['sessions', 'schedules', 'queues'] as const satisfies readonly Place['view'][]
export type MainView = (typeof mainViews)[number]

/** The views of one session. */
export const tabs = ['timeline', 'usage', 'changes', 'tools', 'lanes'] as const
export type Tab = (typeof tabs)[number]

export const filterNames = ['search', 'status', 'model', 'agent', 'tenant', 'label'] as const
/** The filters of the list of sessions. */
export type SessionFilters = Partial<Readonly<Record<(typeof filterNames)[number], string>>>

/** The address of a place. */
export function linkTo(to: Place): string {
  if (to.view === 'sessions') {
    const query = new URLSearchParams(
      filterNames.flatMap((name) => (to.filters?.[name] ? [[name, to.filters[name]]] : [])),
    )
    return query.size === 0 ? '#/' : `#/?${query}`
  }
  if (to.view === 'schedules' || to.view === 'queues') return `#/${to.view}`
  if (to.view === 'compare') return `#/compare/${encodeURIComponent(to.left)}/${encodeURIComponent(to.right)}`
  const call = to.call === undefined ? '' : `/${encodeURIComponent(to.call)}`
  return `#/sessions/${encodeURIComponent(to.sessionId)}/${to.tab}${call}`
}

export function readPlace(hash: string): Place {
  const [path = '', query] = hash.replace(/^#\/?/, '').split('?', 2)
  const [kind, one = '', two = '', three] = path.split('/').map(decoded)
  if (kind === 'sessions' && one !== '') {
    const tab = tabs.find((name) => name === two) ?? 'timeline'
    return { view: 'session', sessionId: one, tab, call: three === '' ? undefined : three }
  }
  if (kind === 'compare' && one !== '' && two !== '') return { view: 'compare', left: one, right: two }
  if (kind === 'schedules' || kind === 'queues') return { view: kind }
  return { view: 'sessions', filters: readFilters(new URLSearchParams(query)) }
}

function readFilters(query: URLSearchParams): SessionFilters {
  return Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = query.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}
