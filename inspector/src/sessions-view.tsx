import { useComputed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { client, describeFailure, type SessionInfo } from './api.js'
import { ago, baseName, count, dollars, tokens } from './format.js'
import { linkTo, place } from './route.js'
import { Line } from './text.js'

const pageSize = 100
const pollMs = 3_000

/** All sessions, live and stored, with subagents under the session that started them. */
export function SessionsView(): JSX.Element {
  const sessions = useSignal<readonly SessionInfo[] | undefined>(undefined)
  const nextCursor = useSignal<string | undefined>(undefined)
  const limit = useSignal(pageSize)
  const failure = useSignal('')
  const search = useSignal('')
  const [status, model, agent] = [useSignal(''), useSignal(''), useSignal('')]
  const chosen = useSignal<readonly string[]>([])

  useEffect(() => {
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async (): Promise<void> => {
      try {
        if (!document.hidden) {
          const found: SessionInfo[] = []
          let cursor: string | undefined
          do {
            const query = { limit: pageSize, summary: true, cursor }
            const page = await client.call('listSessions', { query }, leaving.signal)
            found.push(...page.sessions)
            cursor = page.nextCursor
          } while (cursor !== undefined && found.length < limit.value)
          sessions.value = found
          nextCursor.value = cursor
          failure.value = ''
        }
      } catch (error) {
        failure.value = describeFailure(error)
      }
      if (!leaving.signal.aborted) timer = setTimeout(read, pollMs)
    }
    void read()
    return () => {
      leaving.abort()
      clearTimeout(timer)
    }
  }, [limit.value])

  const shown = useComputed(() => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    return (sessions.value ?? []).filter(({ title, sessionId, workspace, summary }) => {
      const text = [title, sessionId, workspace, summary?.prompt, summary?.principal].join(' ').toLowerCase()
      return (
        words.every((word) => text.includes(word)) &&
        (status.value === '' || summary?.status === status.value) &&
        (model.value === '' || summary?.model === model.value) &&
        (agent.value === '' || summary?.agent === agent.value)
      )
    })
  })
  const known = (read: (one: SessionInfo) => string | undefined): string[] =>
    [...new Set((sessions.value ?? []).flatMap((one) => read(one) ?? []))].sort()
  const totalTokens = shown.value.reduce((sum, { summary }) => sum + (summary?.totalTokens ?? 0), 0)
  const cost = shown.value.reduce((sum, { summary }) => sum + (summary?.costUsd ?? 0), 0)
  const [left, right] = chosen.value

  return (
    <main class="sessions">
      <div class="toolbar">
        <h1>Sessions</h1>
        <input
          type="search"
          aria-label="Search sessions"
          placeholder="Search title, prompt, id, workspace"
          value={search.value}
          onInput={({ currentTarget }) => {
            search.value = currentTarget.value
          }}
        />
        <Filter label="Status" value={status} options={known(({ summary }) => summary?.status)} />
        <Filter label="Model" value={model} options={known(({ summary }) => summary?.model)} />
        <Filter label="Agent" value={agent} options={known(({ summary }) => summary?.agent)} />
        {left !== undefined && (
          <a
            class="button"
            aria-disabled={right === undefined}
            href={right === undefined ? '#/' : linkTo({ view: 'compare', left, right })}
          >
            {right === undefined ? 'Choose another to compare' : 'Compare'}
          </a>
        )}
      </div>
      <p class="totals" role="status">
        {sessions.value === undefined
          ? 'Reading…'
          : `${count(shown.value.length, 'session')} · ${tokens(totalTokens)} tokens · ${dollars(cost) || '$0.00'}`}
      </p>
      {failure.value !== '' && <p class="failure">{failure.value}</p>}
      {sessions.value !== undefined && shown.value.length === 0 && (
        <p class="empty">No sessions{search.value === '' ? ' yet' : ' match'}.</p>
      )}
      {shown.value.length > 0 && (
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                <th scope="col">
                  <span class="hidden">Compare</span>
                </th>
                <th scope="col">Session</th>
                <th scope="col">Status</th>
                <th scope="col" class="wide">
                  Model
                </th>
                <th scope="col" class="number wide">
                  Runs
                </th>
                <th scope="col" class="number wide">
                  Tokens
                </th>
                <th scope="col" class="number">
                  Cost
                </th>
                <th scope="col" class="number">
                  Changed
                </th>
              </tr>
            </thead>
            <tbody>
              {nested(shown.value).map(({ session, depth }) => (
                <SessionRow
                  key={session.sessionId}
                  session={session}
                  depth={depth}
                  isChosen={chosen.value.includes(session.sessionId)}
                  onChoose={(isChosen) => {
                    const others = chosen.value.filter((id) => id !== session.sessionId)
                    chosen.value = isChosen ? [...others.slice(-1), session.sessionId] : others
                  }}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {nextCursor.value !== undefined && (
        <button
          type="button"
          onClick={() => {
            limit.value += pageSize
          }}
        >
          Show older sessions
        </button>
      )}
    </main>
  )
}

function SessionRow({
  session,
  depth,
  isChosen,
  onChoose,
}: {
  readonly session: SessionInfo
  readonly depth: number
  readonly isChosen: boolean
  readonly onChoose: (isChosen: boolean) => void
}): JSX.Element {
  const { sessionId, title, workspace, updatedAtMs, summary } = session
  const name = title ?? summary?.prompt ?? sessionId
  const href = linkTo({ view: 'session', sessionId, tab: 'timeline' })
  return (
    <tr class={summary?.status === 'waiting' ? 'waits' : ''}>
      <td>
        <input
          type="checkbox"
          aria-label={`Compare ${sessionId}`}
          checked={isChosen}
          onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
        />
      </td>
      <td class={`name depth-${Math.min(depth, 4)}`}>
        <a
          href={href}
          onClick={() => {
            place.value = { view: 'session', sessionId, tab: 'timeline' }
          }}
        >
          <Line text={name} max={90} />
        </a>
        <small>
          {summary?.isSubagent ? `subagent${summary.agent === undefined ? '' : ` ${summary.agent}`} · ` : ''}
          <Line text={baseName(workspace)} max={40} /> · <Line text={sessionId} max={12} />
        </small>
      </td>
      <td>
        <Status status={summary?.status ?? 'unknown'} />
      </td>
      <td class="wide">
        <Line text={summary?.model ?? ''} max={40} />
      </td>
      <td class="number wide">{summary?.runs}</td>
      <td class="number wide">{summary === undefined ? '' : tokens(summary.totalTokens)}</td>
      <td class="number">{dollars(summary?.costUsd)}</td>
      <td class="number">{ago(updatedAtMs)}</td>
    </tr>
  )
}

export function Status({ status }: { readonly status: string }): JSX.Element {
  return <span class={`badge ${status}`}>{status}</span>
}

function Filter({
  label,
  value,
  options,
}: {
  readonly label: string
  readonly value: { value: string }
  readonly options: readonly string[]
}): JSX.Element {
  return (
    <label class="filter">
      {label}
      <select
        value={value.value}
        onChange={({ currentTarget }) => {
          value.value = currentTarget.value
        }}
      >
        <option value="">all</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Sessions in order, each followed by those that it started. */
function nested(
  sessions: readonly SessionInfo[],
): { readonly session: SessionInfo; readonly depth: number }[] {
  const ids = new Set(sessions.map(({ sessionId }) => sessionId))
  const isChild = ({ parentId, summary }: SessionInfo): boolean =>
    summary?.isSubagent === true && parentId !== undefined && ids.has(parentId)
  const withChildren = (
    session: SessionInfo,
    depth: number,
  ): { readonly session: SessionInfo; readonly depth: number }[] => [
    { session, depth },
    ...(depth < 8
      ? sessions
          .filter((one) => isChild(one) && one.parentId === session.sessionId)
          .flatMap((one) => withChildren(one, depth + 1))
      : []),
  ]
  return sessions.filter((one) => !isChild(one)).flatMap((one) => withChildren(one, 0))
}
