import type { JSX } from 'preact'
import type { Operations } from '../../src/client/operations.js'
import { client } from './api.js'
import { Status } from './badge.js'
import { ago, count, dateAndTime, duration, fromNow } from './format.js'
import { linkTo } from './places.js'
import { usePolled } from './polling.js'
import { Table } from './table.js'
import { Line, Plain } from './text.js'

type Schedule = Operations['listSchedules']['output']['schedules'][number]
type Fire = Schedule['recent'][number]

const pollMs = 5_000

/** The schedules of served agent directories: when they fire next, and how their fires ended. */
export function SchedulesView(): JSX.Element {
  const { value, failure } = usePolled(
    async (signal) => (await client.call('listSchedules', {}, signal)).schedules,
    pollMs,
    [],
  )
  const schedules = value.value
  return (
    <main class="schedules">
      <div class="toolbar">
        <h1>Schedules</h1>
      </div>
      <p class="totals" role="status">
        {schedules === undefined ? 'Reading…' : count(schedules.length, 'schedule')}
      </p>
      {failure.value !== '' && <p class="failure">{failure.value}</p>}
      {schedules?.length === 0 && (
        <p class="empty">
          This process serves no agent directory. Run <code>capstan serve AGENT_DIR --inspect</code>.
        </p>
      )}
      {schedules?.map((schedule) => (
        <ScheduleCard key={schedule.sessionId} schedule={schedule} />
      ))}
    </main>
  )
}

function ScheduleCard({ schedule }: { readonly schedule: Schedule }): JSX.Element {
  const { name, sessionId, cron, timeZone, triggers, running, nextFireAtMs, last, recent } = schedule
  const how = [...(cron === undefined ? [] : [`${cron} (${timeZone})`]), ...triggers.map((one) => words[one])]
  return (
    <section class="card" aria-label={`Schedule ${name}`}>
      <div class="toolbar">
        <h2 class="title">
          <a href={linkTo({ view: 'session', sessionId, tab: 'timeline' })}>
            <Line text={name} max={100} />
          </a>
        </h2>
        {running ? <Status status="running" /> : last !== undefined && <Status status={last.status} />}
      </div>
      <dl class="figures">
        <div>
          <dt>Fires on</dt>
          <dd>
            <Line text={how.join(', ')} max={120} />
          </dd>
        </div>
        <div>
          <dt>Next fire</dt>
          <dd>
            {nextFireAtMs === undefined ? (
              'when it is triggered'
            ) : (
              <time title={dateAndTime(nextFireAtMs)}>{fromNow(nextFireAtMs)}</time>
            )}
          </dd>
        </div>
        <div>
          <dt>Last fire</dt>
          <dd>{last === undefined ? 'never' : ago(last.firedAtMs)}</dd>
        </div>
      </dl>
      {last?.status === 'skipped' && (
        <p class="note">
          The last fire was skipped: {last.reason === undefined ? 'reason unknown.' : reasons[last.reason]}
        </p>
      )}
      {recent.length > 0 && <Fires name={name} sessionId={sessionId} fires={recent} />}
    </section>
  )
}

function Fires({
  name,
  sessionId,
  fires,
}: {
  readonly name: string
  readonly sessionId: string
  readonly fires: readonly Fire[]
}): JSX.Element {
  return (
    <Table caption={`Fires of ${name}`} columns={fireColumns}>
      {fires.map((fire) => (
        <tr key={fire.runId}>
          <td>
            <a href={linkTo({ view: 'session', sessionId, tab: 'timeline' })}>
              {dateAndTime(fire.firedAtMs)}
            </a>
          </td>
          <td>
            <Status status={fire.status} />
          </td>
          <td class="wide">{sources[fire.source]}</td>
          <td class="number wide">
            {fire.endedAtMs === undefined ? '…' : duration(fire.endedAtMs - fire.startedAtMs)}
          </td>
          <td>
            <Answer text={fire.error ?? fire.text ?? ''} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

const fireColumns = [
  { name: 'Due' },
  { name: 'Result' },
  { name: 'Trigger', isWide: true },
  { name: 'Took', isNumber: true, isWide: true },
  { name: 'Answer' },
]

function Answer({ text }: { readonly text: string }): JSX.Element {
  if (text.length <= 100) return <Line text={text} max={100} />
  return (
    <details>
      <summary>
        <Line text={text} max={100} />
      </summary>
      <Plain label="Answer" text={text} />
    </details>
  )
}

const words = { webhook: 'webhook', file: 'file changes', wake_up: 'wake-ups' } as const

const sources = {
  schedule: 'cron',
  api: 'manual',
  webhook: 'webhook',
  file: 'file change',
  wake_up: 'wake-up',
} as const

const reasons = {
  overlap: 'the previous one was still running.',
  missed: 'it was due while the directory was not served.',
  elsewhere: 'another node ran it.',
  stopped: 'the server stopped first.',
} as const
