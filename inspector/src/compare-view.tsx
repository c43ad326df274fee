import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { count } from './format.js'
import { type Complete, type LoadedSession, useSession } from './load-session.js'
import { linkTo, type Place } from './places.js'
import { ItemView } from './session-view.js'
import { Line } from './text.js'
import { cutChars, type Item, Timeline } from './timeline.js'
import { VirtualList } from './virtual-list.js'

/** Two sessions or forks next to each other; entries that only one of them has are marked. */
export function CompareView({ at }: { readonly at: Extract<Place, { view: 'compare' }> }): JSX.Element {
  const [left, right] = [useSession(at.left), useSession(at.right)]
  const target = useSignal<string | undefined>(undefined)
  const isFork = left.copied.length > 0 || right.copied.length > 0
  const rows = align(itemsOf(left, isFork), itemsOf(right, isFork))
  const differing = rows.filter(({ isSame }) => !isSame).length
  const first = rows.findIndex(({ isSame }) => !isSame)
  const isRead = [left, right].every(({ details, failure }) => details !== undefined || failure !== '')
  const hasFailed = left.failure !== '' || right.failure !== ''
  return (
    <main class="compare">
      <div class="toolbar">
        <h1>Compare</h1>
        <p class="totals" role="status">
          {hasFailed
            ? 'A session could not be read.'
            : !isRead
              ? 'Reading…'
              : first < 0
                ? 'The sessions are the same.'
                : `${differing} of ${rows.length} entries differ${first === 0 ? '' : `, after ${count(first, 'entry', 'entries')} that are the same`}.`}
        </p>
        {first > 0 && (
          <button
            type="button"
            onClick={() => {
              target.value = rows[first]?.key
            }}
          >
            Go to the first difference
          </button>
        )}
      </div>
      <div class="pair names">
        <Name sessionId={at.left} loaded={left} />
        <Name sessionId={at.right} loaded={right} />
      </div>
      <VirtualList
        label="Both sessions"
        rows={rows}
        scrollTo={target.value}
        render={({ left: one, right: other, isSame }) => (
          <div class={`pair ${isSame ? '' : 'differs'}`}>
            <Side sessionId={at.left} item={one} complete={left.complete} />
            <Side sessionId={at.right} item={other} complete={right.complete} />
          </div>
        )}
      />
    </main>
  )
}

function Name({
  sessionId,
  loaded,
}: {
  readonly sessionId: string
  readonly loaded: LoadedSession
}): JSX.Element {
  return (
    <div>
      <h2>
        <a href={linkTo({ view: 'session', sessionId, tab: 'timeline' })}>
          <Line text={loaded.details?.title ?? loaded.runs[0]?.prompt ?? sessionId} max={70} />
        </a>
      </h2>
      {loaded.failure !== '' && <p class="failure">{loaded.failure}</p>}
    </div>
  )
}

function Side({
  sessionId,
  item,
  complete,
}: {
  readonly sessionId: string
  readonly item: Item | undefined
  readonly complete: Complete
}): JSX.Element {
  const isOpen = useSignal(false)
  if (item === undefined) return <div class="absent">not in this session</div>
  return (
    <div>
      <ItemView
        sessionId={sessionId}
        item={item}
        isOpen={isOpen.value}
        onToggle={() => {
          isOpen.value = !isOpen.value
        }}
        complete={complete}
      />
    </div>
  )
}

/** The entries of a session. A fork has copied messages without rounds and ends, which are left out on both sides. */
function itemsOf({ events, copied }: LoadedSession, isFork: boolean): readonly Item[] {
  const timeline = new Timeline()
  for (const event of events) timeline.add(event)
  const own = timeline.items
  return isFork
    ? [...copied, ...own].filter(({ kind }) => kind !== 'copied' && kind !== 'round' && kind !== 'end')
    : own
}

type Row = {
  readonly key: string
  readonly left: Item | undefined
  readonly right: Item | undefined
  readonly isSame: boolean
}

const lookAhead = 30

/** Aligns equal entries: after a difference, continues with the nearest pair of equal entries. */
function align(left: readonly Item[], right: readonly Item[]): Row[] {
  const [a, b] = [left.map(contentOf), right.map(contentOf)]
  const rows: Row[] = []
  const add = (one: Item | undefined, other: Item | undefined, isSame: boolean): void => {
    rows.push({ key: `${rows.length}`, left: one, right: other, isSame })
  }
  let [i, j] = [0, 0]
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && a[i] === b[j]) {
      add(left[i++], right[j++], true)
      continue
    }
    const [skipLeft, skipRight] = nextPair(a, b, i, j)
    const count = Math.max(skipLeft, skipRight)
    for (let at = 0; at < count; at++)
      add(at < skipLeft ? left[i + at] : undefined, at < skipRight ? right[j + at] : undefined, false)
    i += skipLeft
    j += skipRight
  }
  return rows
}

/** How many entries of each side come before the next pair of equal ones. */
function nextPair(a: readonly string[], b: readonly string[], i: number, j: number): [number, number] {
  for (let sum = 1; sum <= lookAhead; sum++)
    for (let one = 0; one <= sum; one++)
      if (i + one < a.length && j + sum - one < b.length && a[i + one] === b[j + sum - one])
        return [one, sum - one]
  return [Math.min(1, a.length - i), Math.min(1, b.length - j)]
}

function contentOf(item: Item): string {
  switch (item.kind) {
    case 'call':
      return JSON.stringify(['call', item.toolName, item.args, item.output, cutChars(item)])
    case 'prompt':
    case 'steer':
    case 'text':
    case 'reasoning':
      return JSON.stringify([item.kind, item.text, cutChars(item)])
    case 'round':
      return JSON.stringify(['round', item.turn])
    case 'copied':
      return 'copied'
    case 'end':
      return JSON.stringify(['end', item.status])
    case 'event':
      return JSON.stringify(['event', item.event.type])
  }
}
