import { useSignal } from '@preact/signals'
import { type JSX, render } from 'preact'
import { isConnected, signInWithToken, signOut, startVisit, visitor } from './api.js'
import { CompareView } from './compare-view.js'
import { keepFocus } from './focus.js'
import { listenToKeys } from './keyboard.js'
import { linkTo, mainViews } from './places.js'
import { QueuesView } from './queues-view.js'
import { place } from './route.js'
import { SchedulesView } from './schedules-view.js'
import { SessionView } from './session-view.js'
import { SessionsView } from './sessions-view.js'
import { escapeShownText } from './shown-text.js'

function App(): JSX.Element {
  const who = visitor.value
  if (who === undefined) return <main class="sign-in">Signing in…</main>
  if (who === null) return <SignIn />
  return (
    <>
      <Header />
      {!isConnected.value && (
        <p class="banner" role="alert">
          The server does not answer. Trying again…
        </p>
      )}
      <View />
    </>
  )
}

function View(): JSX.Element {
  const at = place.value
  const readsOnly = visitor.value?.readsOnly
  if (readsOnly !== undefined)
    return (
      <SessionView
        at={
          at.view === 'session' && at.sessionId === readsOnly
            ? at
            : { view: 'session', sessionId: readsOnly, tab: 'timeline' }
        }
      />
    )
  if (at.view === 'session') return <SessionView key={at.sessionId} at={at} />
  if (at.view === 'compare') return <CompareView key={`${at.left} ${at.right}`} at={at} />
  if (at.view === 'schedules') return <SchedulesView />
  if (at.view === 'queues') return <QueuesView />
  return <SessionsView filters={at.filters ?? {}} />
}

const viewNames = { sessions: 'Sessions', schedules: 'Schedules', queues: 'Queues' } as const

function Header(): JSX.Element {
  const theme = useSignal(document.documentElement.dataset['theme'] ?? 'auto')
  const next = theme.value === 'auto' ? 'dark' : theme.value === 'dark' ? 'light' : 'auto'
  return (
    <header>
      <a class="brand" href={linkTo({ view: 'sessions' })}>
        Capstan <span>inspector</span>
      </a>
      <nav aria-label="Main">
        {visitor.value?.readsOnly === undefined ? (
          mainViews.map((view) => (
            <a
              key={view}
              href={linkTo({ view })}
              aria-current={place.value.view === view ? 'page' : undefined}
            >
              {viewNames[view]}
            </a>
          ))
        ) : (
          <span class="badge">read only</span>
        )}
      </nav>
      <span class="who">{visitor.value?.principal}</span>
      <button
        type="button"
        onClick={() => {
          theme.value = next
          showTheme(next)
        }}
      >
        Theme: {theme.value}
      </button>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </header>
  )
}

function SignIn(): JSX.Element {
  const token = useSignal('')
  const failure = useSignal('')
  return (
    <main class="sign-in">
      <h1>Capstan inspector</h1>
      <p>
        Open the link that <code>capstan inspect</code> prints. It signs you in once, within 60 seconds.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void signInWithToken(token.value.trim()).then((isSignedIn) => {
            failure.value = isSignedIn ? '' : 'The server does not accept this token.'
          })
        }}
      >
        <label>
          Or use the server token
          <input
            type="password"
            autocomplete="off"
            value={token.value}
            onInput={({ currentTarget }) => {
              token.value = currentTarget.value
            }}
          />
        </label>
        <button type="submit" class="primary" disabled={token.value.trim() === ''}>
          Sign in
        </button>
      </form>
      {failure.value !== '' && <p class="failure">{failure.value}</p>}
    </main>
  )
}

const themeKey = 'capstan-theme'

function showTheme(name: string): void {
  localStorage.setItem(themeKey, name)
  if (name === 'auto') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = name
}

escapeShownText()
showTheme(localStorage.getItem(themeKey) ?? 'auto')
const root = document.getElementById('app')
if (root !== null) {
  root.replaceChildren()
  render(<App />, root)
}
listenToKeys()
keepFocus()
void startVisit()
