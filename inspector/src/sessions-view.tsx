import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { client, type SessionInfo } from './api.js'
import { Status } from './badge.js'
import { ago, baseName, count, dollars, tokens } from './format.js'
import { linkTo, type SessionFilters } from './places.js'
import { usePolled } from './polling.js'
import { place, replacePlace } from './route.js'
import { Table } from './table.js'
import { Line } from './text.js'

const pageSize = 100
const pollMs = 3_000

/** All sessions, live and stored, with subagents under the session that started them. */
export function SessionsView({ filters }: { readonly filters: SessionFilters }): JSX.Element {
  const limit = useSignal(pageSize)
  const chosen = useSignal<readonly string[]>([])
  const { value, failure } = usePolled((signal) => readSessions(limit.value, signal), pollMs, [limit.value])
  const sessions = value.value?.sessions
  const shown = (sessions ?? []).filter((session) => fits(session, filters))
  const set = (name: keyof SessionFilters, text: string): void =>
    replacePlace({ view: 'sessions', filters: { ...filters, [name]: text } })
  const known = (valuesOf: (one: SessionInfo) => readonly string[]): string[] =>
    [...new Set((sessions ?? []).flatMap(valuesOf))].sort()
  const totalTokens = shown.reduce((sum, { summary }) => sum + (summary?.totalTokens ?? 0), 0)
  const cost = shown.reduce((sum, { summary }) => sum + (summary?.costUsd ?? 0), 0)
  const [left, right] = chosen.value
  const isFiltered = Object.values(filters).some((text) => text !== '')

  return (
    <main class="sessions">
      <div class="toolbar">
        <h1>Sessions</h1>
        <input
          type="search"
          aria-label="Search sessions"
          placeholder="Search title, prompt, id, workspace"
          value={filters.search ?? ''}
          onInput={({ currentTarget }) => set('search', currentTarget.value)}
        />
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
      <div class="toolbar filters">
        {choices.map(({ name, label, valuesOf, isOptional }) => (
          <Filter
            key={name}
            label={label}
            value={filters[name] ?? ''}
            options={known(valuesOf)}
            isOptional={isOptional}
            onChange={(text) => set(name, text)}
          />
        ))}
      </div>
      <p class="totals" role="status">
        {sessions === undefined
          ? 'Reading…'
          : `${count(shown.length, 'session')} · ${tokens(totalTokens)} tokens · ${dollars(cost) || '$0.00'}`}
      </p>
      {failure.value !== '' && <p class="failure">{failure.value}</p>}
      {sessions !== undefined && shown.length === 0 && (
        <p class="empty">{sessions.length === 0 ? 'No sessions yet.' : 'No session matches.'}</p>
      )}
      {shown.length > 0 && (
        <Table caption="Sessions" columns={columns} isPlain={false}>
          {nested(shown).map(({ session, depth }) => (
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
        </Table>
      )}
      {value.value?.hasMore === true && (
        <p class="more">
          <button
            type="button"
            onClick={() => {
              limit.value += isFiltered ? 5 * pageSize : pageSize
            }}
          >
            {isFiltered ? 'Search older sessions' : 'Show older sessions'}
          </button>{' '}
          <span class="quiet">
            {isFiltered ? 'Searched' : 'Showing'} the newest {sessions?.length.toLocaleString()} sessions.
          </span>
        </p>
      )}
    </main>
  )
}

const columns = [
  { name: 'Compare', isHidden: true },
  { name: 'Session' },
  { name: 'Status' },
  { name: 'Model', isWide: true },
  { name: 'Runs', isNumber: true, isWide: true },
  { name: 'Tokens', isNumber: true, isWide: true },
  { name: 'Cost', isNumber: true, isWide: true },
  { name: 'Changed', isNumber: true },
]

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
      <td class="number wide">{dollars(summary?.costUsd)}</td>
      <td class="number">{ago(updatedAtMs)}</td>
    </tr>
  )
}

function Filter({
  label,
  value,
  options,
  isOptional,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly options: readonly string[]
  readonly isOptional: boolean
  readonly onChange: (value: string) => void
}): JSX.Element | null {
  if (isOptional && options.length === 0 && value === '') return null
  return (
    <label class="filter">
      {label}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">all</option>
        {(value === '' || options.includes(value) ? options : [...options, value]).map((option) => (
          <option key={option} value={option}>
            {option.slice(0, 80)}
          </option>
        ))}
      </select>
    </label>
  )
}

const choices: readonly {
  readonly name: Exclude<keyof SessionFilters, 'search'>
  readonly label: string
  /** Not shown when no session has such a value. */
  readonly isOptional: boolean
  readonly valuesOf: (session: SessionInfo) => readonly string[]
}[] = [
  { name: 'status', label: 'Status', isOptional: false, valuesOf: ({ summary }) => present(summary?.status) },
  { name: 'model', label: 'Model', isOptional: false, valuesOf: ({ summary }) => present(summary?.model) },
  { name: 'agent', label: 'Agent', isOptional: false, valuesOf: ({ summary }) => present(summary?.agent) },
  {
    name: 'tenant',
    label: 'Tenant',
    isOptional: true,
    valuesOf: ({ labels }) => present(labels?.tenantId),
  },
  {
    name: 'label',
    label: 'Label',
    isOptional: true,
    valuesOf: ({ labels = {} }) =>
      Object.entries(labels).flatMap(([key, value]) => (key === 'tenantId' ? [] : [`${key}: ${value}`])),
  },
]

function present(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value]
}

function fits(session: SessionInfo, filters: SessionFilters): boolean {
  const { title, sessionId, workspace, summary } = session
  const text = [title, sessionId, workspace, summary?.prompt, summary?.principal].join(' ').toLowerCase()
  const words = (filters.search ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  return (
    words.every((word) => text.includes(word)) &&
    choices.every(({ name, valuesOf }) => {
      const wanted = filters[name] ?? ''
      return wanted === '' || valuesOf(session).includes(wanted)
    })
  )
}

async function readSessions(
  limit: number,
  signal: AbortSignal,
): Promise<{ readonly sessions: readonly SessionInfo[]; readonly hasMore: boolean }> {
  const sessions: SessionInfo[] = []
  let cursor: string | undefined
  do {
    const query = { limit: pageSize, summary: true, cursor }
    const page = await client.call('listSessions', { query }, signal)
    sessions.push(...page.sessions)
    cursor = page.nextCursor
  } while (cursor !== undefined && sessions.length < limit)
  return { sessions, hasMore: cursor !== undefined }
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
