import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Operations } from '../../src/client/operations.js'
import { client, describeFailure, visitor } from './api.js'
import { Status } from './badge.js'
import { ago, count, duration } from './format.js'
import { linkTo } from './places.js'
import { usePolled } from './polling.js'
import { Table } from './table.js'
import { Line } from './text.js'

type Cluster = Operations['getCluster']['output']
type ClusterStatus = NonNullable<Cluster['status']>
type DeadRun = Cluster['dead'][number]

const pollMs = 3_000

/** The queue of the cluster: lanes, workers, and dead runs with retry. */
export function QueuesView(): JSX.Element {
  const { value, failure, refresh } = usePolled((signal) => client.call('getCluster', {}, signal), pollMs, [])
  const cluster = value.value
  const status = cluster?.status
  return (
    <main class="queues">
      <div class="toolbar">
        <h1>Queues</h1>
      </div>
      <p class="totals" role="status">
        {cluster === undefined ? 'Reading…' : status === undefined ? '' : totalsOf(status)}
      </p>
      {failure.value !== '' && <p class="failure">{failure.value}</p>}
      {cluster !== undefined && status === undefined && (
        <p class="empty">
          No cluster queue is visible here. The lanes of a session are in its tab <em>Lanes</em>.
        </p>
      )}
      {status !== undefined && <Lanes lanes={status.lanes} />}
      {status !== undefined && <Workers nodes={status.nodes} />}
      {cluster !== undefined && (status !== undefined || cluster.dead.length > 0) && (
        <DeadRuns dead={cluster.dead} onRetried={refresh} />
      )}
    </main>
  )
}

function totalsOf({ waiting, dead, ended, takeovers }: ClusterStatus): string {
  return [
    `${count(waiting, 'run')} waiting for a person`,
    `${dead} dead`,
    `${ended.completed} completed`,
    `${ended.failed} failed`,
    `${ended.cancelled} cancelled`,
    count(takeovers, 'takeover'),
  ].join(' · ')
}

function Lanes({ lanes }: Pick<ClusterStatus, 'lanes'>): JSX.Element {
  return (
    <section aria-label="Lanes">
      <h2>Lanes</h2>
      {lanes.length === 0 ? (
        <p class="quiet">No run is waiting or active.</p>
      ) : (
        <Table caption="Lanes" columns={laneColumns}>
          {lanes.map(({ lane, queued, active, oldestWaitMs }) => (
            <tr key={lane}>
              <td>
                <Line text={lane} max={60} />
              </td>
              <td class="number">{queued}</td>
              <td class="number">{active}</td>
              <td class="number">{oldestWaitMs === 0 ? '' : duration(oldestWaitMs)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

const laneColumns = [
  { name: 'Lane' },
  { name: 'Queued', isNumber: true },
  { name: 'Active', isNumber: true },
  { name: 'Oldest waits', isNumber: true },
]

function Workers({ nodes }: Pick<ClusterStatus, 'nodes'>): JSX.Element {
  return (
    <section aria-label="Workers">
      <h2>Workers</h2>
      {nodes.length === 0 ? (
        <p class="note">
          No worker is running, so queued runs wait. Start one with <code>capstan worker</code>.
        </p>
      ) : (
        <Table caption="Workers" columns={workerColumns}>
          {nodes.map((node) => (
            <tr key={node.id}>
              <td>
                <Line text={node.name} max={60} />{' '}
                <small>
                  <Line text={node.host} max={60} />
                  {node.pid !== undefined && `, process ${node.pid}`}
                </small>
              </td>
              <td>
                <Status status={node.isDraining ? 'draining' : node.active > 0 ? 'running' : 'idle'} />
              </td>
              <td class="number">
                {node.active} of {node.slots}
              </td>
              <td class="wide">
                <Line text={node.lanes.join(', ')} max={80} />
              </td>
              <td class="wide">
                <Line text={node.version ?? ''} max={30} />
              </td>
              <td class="number wide">{ago(node.startedAtMs)}</td>
              <td class="number">{ago(node.seenAtMs)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

const workerColumns = [
  { name: 'Worker' },
  { name: 'State' },
  { name: 'Slots used', isNumber: true },
  { name: 'Lanes', isWide: true },
  { name: 'Version', isWide: true },
  { name: 'Started', isNumber: true, isWide: true },
  { name: 'Seen', isNumber: true },
]

function DeadRuns({
  dead,
  onRetried,
}: {
  readonly dead: readonly DeadRun[]
  readonly onRetried: () => Promise<void>
}): JSX.Element {
  const said = useSignal('')
  const retry = async ({ sessionId, runId }: DeadRun): Promise<void> => {
    try {
      await client.call('resumeRun', { params: { sessionId, runId } })
      said.value = `The run ${runId} is queued again.`
    } catch (error) {
      said.value = describeFailure(error)
    }
    await onRetried()
  }
  return (
    <section aria-label="Dead runs">
      <h2>Dead runs</h2>
      <p class="quiet">
        Runs whose workers ended too often without progress. They are not run again until they are retried.
      </p>
      <p role="status">{said.value}</p>
      {dead.map((run) => (
        <article key={run.runId} class="card">
          <div class="toolbar">
            <h3 class="title">
              <a href={linkTo({ view: 'session', sessionId: run.sessionId, tab: 'timeline' })}>
                <Line text={run.prompt} max={90} />
              </a>
            </h3>
            <Status status="dead" />
            {visitor.value?.readsOnly === undefined && (
              <button type="button" onClick={() => void retry(run)}>
                Retry
              </button>
            )}
          </div>
          <p class="totals">
            lane <Line text={run.lane} max={60} /> · {count(run.attempt, 'attempt')} · {ago(run.updatedAtMs)}
            {run.tenantId !== undefined && (
              <>
                {' '}
                · tenant <Line text={run.tenantId} max={60} />
              </>
            )}
          </p>
          {run.error !== undefined && (
            <p class="failure">
              <Line text={run.error.message} max={500} />
            </p>
          )}
        </article>
      ))}
      {dead.length === 0 && <p>None.</p>}
    </section>
  )
}
