import type { ClusterStatus } from '../run-queue/run-queue.js'
import type { RunSnapshot } from '../session/runs.js'

/** Counts requests, runs, streams, tokens and cost of the server, in the format of Prometheus. */
export class Metrics {
  readonly #requests = new Map<string, number>()
  readonly #runs = new Map<string, number>()
  #started = 0
  #streams = 0
  #promptTokens = 0
  #completionTokens = 0
  #costUsd = 0

  request(action: string, status: number): void {
    const key = `action="${action}",status="${status}"`
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1)
  }

  runStarted(): void {
    this.#started += 1
  }

  runEnded(status: string, run: RunSnapshot | null): void {
    this.#runs.set(status, (this.#runs.get(status) ?? 0) + 1)
    this.#promptTokens += run?.usage?.promptTokens ?? 0
    this.#completionTokens += run?.usage?.completionTokens ?? 0
    this.#costUsd += run?.costUsd ?? 0
  }

  streamOpened(): () => void {
    this.#streams += 1
    return () => {
      this.#streams -= 1
    }
  }

  text(now: { readonly sessions: number; readonly activeRuns: number }): string {
    const { rss, heapUsed } = process.memoryUsage()
    return [
      counter('capstan_requests_total', 'Requests by action and status.', this.#requests),
      counter('capstan_runs_started_total', 'Runs that were started.', this.#started),
      counter(
        'capstan_runs_ended_total',
        'Runs that have ended, by status.',
        new Map([...this.#runs].map(([status, count]) => [`status="${status}"`, count])),
      ),
      gauge('capstan_runs_active', 'Runs that are active or queued.', now.activeRuns),
      gauge('capstan_sessions_open', 'Sessions that are open in this process.', now.sessions),
      gauge('capstan_streams_open', 'Event streams that are open.', this.#streams),
      counter('capstan_prompt_tokens_total', 'Tokens sent to models.', this.#promptTokens),
      counter('capstan_completion_tokens_total', 'Tokens answered by models.', this.#completionTokens),
      counter('capstan_cost_usd_total', 'Cost in US dollars, where prices are known.', this.#costUsd),
      gauge('process_resident_memory_bytes', 'Resident memory.', rss),
      gauge('nodejs_heap_used_bytes', 'Heap in use.', heapUsed),
    ].join('')
  }
}

/** Formats the state of the cluster for Prometheus. */
export function clusterMetrics({ status, queueMs, storeMs }: ClusterMeasures): string {
  const { nodes, lanes, waiting, dead, ended, takeovers } = status
  const byLane = lanes.flatMap(({ lane, queued, active }): [string, number][] => [
    [`lane="${escaped(lane)}",state="queued"`, queued],
    [`lane="${escaped(lane)}",state="active"`, active],
  ])
  const byState = Object.entries({ waiting, dead, ...ended })
  const ofNode = (field: 'slots' | 'active'): Map<string, number> =>
    new Map(nodes.map((node) => [`node="${escaped(node.id)}",name="${escaped(node.name)}"`, node[field]]))
  return [
    gauge(
      'capstan_queue_lane_runs',
      'Runs of the cluster that wait for a slot or are active, by lane.',
      new Map(byLane),
    ),
    gauge(
      'capstan_queue_oldest_wait_seconds',
      'How long the oldest run that could start has waited, by lane.',
      new Map(lanes.map(({ lane, oldestWaitMs }) => [`lane="${escaped(lane)}"`, oldestWaitMs / 1_000])),
    ),
    gauge(
      'capstan_queue_runs',
      'Runs of the cluster that wait for a user, are dead letters, or have ended, by state.',
      new Map(byState.map(([state, count]) => [`state="${state}"`, count])),
    ),
    counter('capstan_takeovers_total', 'Runs that were taken from nodes that had ended.', takeovers),
    gauge('capstan_nodes', 'Nodes of the cluster.', nodes.length),
    gauge('capstan_node_slots', 'Slots of each node.', ofNode('slots')),
    gauge('capstan_node_slots_active', 'Slots of each node that have a run.', ofNode('active')),
    gauge(
      'capstan_queue_latency_seconds',
      'How long the queue took to answer for these metrics.',
      queueMs / 1_000,
    ),
    storeMs === undefined
      ? ''
      : gauge(
          'capstan_store_latency_seconds',
          'How long the store took to answer for these metrics.',
          storeMs / 1_000,
        ),
  ].join('')
}

/** The state of the cluster, and how long its parts took to respond. */
export type ClusterMeasures = {
  readonly status: ClusterStatus
  readonly queueMs: number
  /** Absent for a store without a clock. */
  readonly storeMs?: number | undefined
}

/** Escapes a label value for the text format. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

type Value = number | ReadonlyMap<string, number>
const counter = (name: string, help: string, value: Value): string => metric(name, 'counter', help, value)
const gauge = (name: string, help: string, value: Value): string => metric(name, 'gauge', help, value)

function metric(name: string, type: 'counter' | 'gauge', help: string, value: Value): string {
  const lines =
    typeof value === 'number'
      ? [`${name} ${value}`]
      : [...value].map(([labels, count]) => `${name}{${labels}} ${count}`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.map((line) => `${line}\n`).join('')}`
}
