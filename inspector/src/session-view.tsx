import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { type TimedEvent, visitor } from './api.js'
import { Waiting } from './approvals.js'
import { Status } from './badge.js'
import { CallView } from './call-view.js'
import { ChangesView } from './changes-view.js'
import { clock, count, dollars, duration, tokens } from './format.js'
import { Images, SessionImages, useImages } from './images.js'
import { LanesView } from './lanes-view.js'
import { type Complete, type LoadedSession, useSession } from './load-session.js'
import { linkTo, type Place, tabs } from './places.js'
import { Rest } from './rest.js'
import { ShareLinks } from './share.js'
import { Json, Line, Markdown, Plain } from './text.js'
import { cutChars, type Item, Timeline } from './timeline.js'
import { ToolsView } from './tools-view.js'
import { UsageView } from './usage-view.js'
import { VirtualList } from './virtual-list.js'

export function SessionView({ at }: { readonly at: Extract<Place, { view: 'session' }> }): JSX.Element {
  const { sessionId, tab } = at
  const loaded = useSession(sessionId)
  const { details, runs, failure } = loaded
  const cost = runs.reduce((sum, run) => sum + (run.costUsd ?? 0), 0)
  const isRunning = runs.some(({ status }) => status === 'running' || status === 'queued')
  const isSharing = useSignal(false)
  const isWaiting = useSignal(false)
  const images = useImages(sessionId, `${runs.length} ${isRunning}`)
  if (details === undefined && failure !== '')
    return (
      <main class="session">
        <h1>
          <Line text={sessionId} max={90} />
        </h1>
        <p class="failure">{failure}</p>
        {visitor.value?.readsOnly === undefined && (
          <p>
            <a href={linkTo({ view: 'sessions' })}>All sessions</a>
          </p>
        )}
      </main>
    )
  return (
    <main class="session">
      <div class="toolbar">
        <h1>
          <Line text={details?.title ?? runs[0]?.prompt ?? sessionId} max={90} />
        </h1>
        <Status
          status={isWaiting.value ? 'waiting' : isRunning ? 'running' : (runs.at(-1)?.status ?? 'idle')}
        />
        {visitor.value?.readsOnly === undefined && (
          <button
            type="button"
            aria-expanded={isSharing.value}
            onClick={() => {
              isSharing.value = !isSharing.value
            }}
          >
            Share
          </button>
        )}
      </div>
      {isSharing.value && <ShareLinks sessionId={sessionId} />}
      {details !== undefined && (
        <p class="totals">
          <Line text={details.model ?? ''} max={60} /> · mode {details.mode ?? 'default'} ·{' '}
          {count(runs.length, 'run')}
          {cost > 0 && ` · ${dollars(cost)}`} · <Line text={details.workspace} max={80} />
        </p>
      )}
      {details?.warning !== undefined && details.warning !== null && (
        <p class="note">
          <Line text={details.warning} max={400} />
        </p>
      )}
      {failure !== '' && <p class="failure">{failure}</p>}
      <Waiting
        sessionId={sessionId}
        onCount={(count) => {
          isWaiting.value = count > 0
        }}
      />
      <nav class="tabs" aria-label="Views of the session">
        {tabs.map((name) => (
          <a
            key={name}
            href={linkTo({ view: 'session', sessionId, tab: name })}
            aria-current={name === tab ? 'page' : undefined}
          >
            {tabNames[name]}
          </a>
        ))}
      </nav>
      {tab === 'timeline' && (
        <SessionImages.Provider value={{ sessionId, images }}>
          <TimelineView sessionId={sessionId} loaded={loaded} call={at.call} />
        </SessionImages.Provider>
      )}
      {tab === 'usage' && <UsageView sessionId={sessionId} events={loaded.events} />}
      {tab === 'changes' && <ChangesView sessionId={sessionId} runs={runs} />}
      {tab === 'tools' && <ToolsView sessionId={sessionId} />}
      {tab === 'lanes' && <LanesView sessionId={sessionId} />}
    </main>
  )
}

const tabNames = {
  timeline: 'Timeline',
  usage: 'Usage',
  changes: 'File changes',
  tools: 'Tools and servers',
  lanes: 'Lanes',
}

function TimelineView({
  sessionId,
  loaded: { details, events, copied, runs, complete },
  call,
}: {
  readonly sessionId: string
  readonly loaded: LoadedSession
  readonly call: string | undefined
}): JSX.Element {
  /** How many events are shown; undefined: all, also those that come. */
  const upTo = useSignal<number | undefined>(undefined)
  const open = useSignal<ReadonlySet<string>>(new Set())
  const isRunning = runs.some(({ status }) => status === 'running' || status === 'queued')
  const isEmpty = details !== undefined && runs.length === 0
  const own = itemsOf(events, upTo.value)
  const items = copied.length === 0 ? own : [...copied, ...own]
  const linked =
    call === undefined ? undefined : items.find((item) => item.kind === 'call' && item.toolId === call)
  useEffect(() => {
    if (linked !== undefined) open.value = new Set([...open.value, linked.key])
  }, [linked?.key])
  const toggle = (key: string): void => {
    const next = new Set(open.value)
    if (!next.delete(key)) next.add(key)
    open.value = next
  }
  const last = upTo.value === undefined ? events.at(-1) : events[upTo.value - 1]
  if (isEmpty && items.length === 0) return <p class="empty">Nothing has happened in this session yet.</p>
  return (
    <>
      <VirtualList
        label="Timeline"
        rows={items}
        scrollTo={linked?.key}
        followsEnd={isRunning && upTo.value === undefined && call === undefined}
        render={(item) => (
          <ItemView
            sessionId={sessionId}
            item={item}
            isOpen={open.value.has(item.key)}
            onToggle={() => toggle(item.key)}
            complete={complete}
          />
        )}
      />
      {events.length > 1 && (
        <div class="scrubber">
          <label>
            Replay
            <input
              type="range"
              min={1}
              max={events.length}
              value={upTo.value ?? events.length}
              onInput={({ currentTarget }) => {
                const value = Number(currentTarget.value)
                upTo.value = value === events.length ? undefined : value
              }}
            />
          </label>
          <output>
            {(upTo.value ?? events.length).toLocaleString()} of {events.length.toLocaleString()} events
            {last !== undefined && ` · ${clock(last.timestampMs)}`}
          </output>
        </div>
      )}
    </>
  )
}

/** Folded again only when events came, or the place changed. */
let folded: { events: readonly TimedEvent[]; count: number; items: readonly Item[] } | undefined
function itemsOf(events: readonly TimedEvent[], upTo: number | undefined): readonly Item[] {
  const count = upTo ?? events.length
  if (folded?.events === events && folded.count === count) return folded.items
  const timeline = new Timeline()
  for (let at = 0; at < count; at++) {
    const event = events[at]
    if (event !== undefined) timeline.add(event)
  }
  folded = { events, count, items: timeline.items }
  return timeline.items
}

export function ItemView({
  sessionId,
  item,
  isOpen,
  onToggle,
  complete,
}: {
  readonly sessionId: string
  readonly item: Item
  readonly isOpen: boolean
  readonly onToggle: () => void
  readonly complete: Complete
}): JSX.Element {
  switch (item.kind) {
    case 'call':
      return (
        <CallView sessionId={sessionId} call={item} isOpen={isOpen} onToggle={onToggle} complete={complete} />
      )
    case 'prompt':
    case 'steer':
      return (
        <article class="prompt">
          <span class="who">{item.kind === 'prompt' ? 'Prompt' : 'Steered'}</span>
          <div>
            <Plain label="Prompt" text={item.text} />
            {item.runId !== undefined && <Images runId={item.runId} />}
            <Rest cut={item.cut} complete={complete} isAsked />
          </div>
          {item.atMs !== undefined && <time>{clock(item.atMs)}</time>}
        </article>
      )
    case 'text':
      return (
        <article class="answer">
          <Markdown text={item.text} />
          <Rest cut={item.cut} complete={complete} isAsked />
        </article>
      )
    case 'reasoning':
      return (
        <details
          class="reasoning"
          open={isOpen}
          onToggle={({ currentTarget }) => currentTarget.open !== isOpen && onToggle()}
        >
          <summary>Reasoning ({count(item.text.length + cutChars(item), 'character')})</summary>
          {isOpen && <Plain label="Reasoning" text={item.text} />}
          {isOpen && <Rest cut={item.cut} complete={complete} />}
        </details>
      )
    case 'round': {
      const { usage, endedAtMs, atMs } = item
      return (
        <div class="round">
          Round {item.turn}
          {endedAtMs !== undefined && ` · ${duration(endedAtMs - atMs)}`}
          {usage !== undefined &&
            ` · ${tokens(usage.promptTokens)} in (${tokens(usage.cacheReadTokens)} cached), ${tokens(usage.completionTokens)} out`}
        </div>
      )
    }
    case 'copied':
      return <div class="round">Copied from the session that this one was forked from</div>
    case 'end':
      return (
        <div class={`end ${item.status}`}>
          <Status status={item.status} /> <Line text={item.text} max={600} /> <time>{clock(item.atMs)}</time>
        </div>
      )
    case 'event':
      return (
        <details
          class="event"
          open={isOpen}
          onToggle={({ currentTarget }) => currentTarget.open !== isOpen && onToggle()}
        >
          <summary>
            <span class="type">{item.event.type}</span> <Line text={summaryOf(item.event)} max={160} />
          </summary>
          {isOpen && <Json label={item.event.type} value={item.event} />}
          {isOpen && <Rest cut={item.cut} complete={complete} />}
        </details>
      )
  }
}

function summaryOf(event: Extract<Item, { kind: 'event' }>['event']): string {
  const { message, reason, error } = event
  if (message !== undefined) return message
  if (event.type === 'subagent_start') return `${event.agent}: ${event.description}`
  if (event.type === 'subagent_end') return `${event.agent}: ${event.success ? 'done' : 'failed'}`
  return reason ?? error ?? ''
}
