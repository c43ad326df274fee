import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Operations } from '../../src/client/operations.js'
import { client, describeFailure, visitor } from './api.js'
import { Status } from './badge.js'
import { ago, count } from './format.js'
import { usePolled } from './polling.js'
import { Table } from './table.js'
import { Json, Line } from './text.js'

type Queue = Operations['getQueue']['output']
type Letter = Queue['deadLetters'][number]

const pollMs = 3_000

/** The lanes that the calls of a session wait in, the calls that workers have, and dead letters with retry. */
export function LanesView({ sessionId }: { readonly sessionId: string }): JSX.Element {
  const { value, failure, refresh } = usePolled(
    (signal) => client.call('getQueue', { params: { sessionId } }, signal),
    pollMs,
    [sessionId],
  )
  const queue = value.value
  if (queue === undefined)
    return <p class={failure.value === '' ? 'empty' : 'failure'}>{failure.value || 'Reading…'}</p>
  if (queue.lanes.length === 0)
    return (
      <p class="empty">
        Calls of this session run without waiting. Set the option <code>queueConfig</code> to use lanes.
      </p>
    )
  return (
    <div class="lanes">
      {failure.value !== '' && <p class="failure">{failure.value}</p>}
      <h2>Lanes</h2>
      <Table caption="Lanes" columns={columns}>
        {queue.lanes.map(({ lane, mode, pending, active }) => (
          <tr key={lane}>
            <td>{lane}</td>
            <td>{modes[mode] ?? mode}</td>
            <td class="number">{pending}</td>
            <td class="number">{active}</td>
          </tr>
        ))}
      </Table>
      <h2>Calls handed to workers</h2>
      {queue.tasks.length === 0 && <p class="quiet">None.</p>}
      <ul>
        {queue.tasks.map(({ taskId, lane, toolName, attempt }) => (
          <li key={taskId}>
            <code>
              <Line text={toolName} max={80} />
            </code>{' '}
            in {lane}, attempt {attempt}
          </li>
        ))}
      </ul>
      <h2>Dead letters</h2>
      {queue.deadLetters.length === 0 && <p class="quiet">There are no dead letters.</p>}
      {queue.deadLetters.map((letter) => (
        <DeadLetter key={letter.commandId} sessionId={sessionId} letter={letter} onRetried={refresh} />
      ))}
    </div>
  )
}

const columns = [
  { name: 'Lane' },
  { name: 'Runs' },
  { name: 'Waiting', isNumber: true },
  { name: 'Active', isNumber: true },
]

const modes: Readonly<Record<string, string>> = {
  internal: 'here',
  external: 'by workers',
  hybrid: 'in this process; others are notified',
}

const noRetry = {
  host_tool_disabled: 'the host does not allow direct calls of this tool (hostTools)',
  dead_letter_from_log: 'from the log of an earlier process: only the host can retry it (evenIfFromLog)',
  dead_letter_without_arguments: 'its arguments were not saved: only the host can repeat the call',
} satisfies Record<NonNullable<Letter['retryProblem']>, string>

function DeadLetter({
  sessionId,
  letter,
  onRetried,
}: {
  readonly sessionId: string
  readonly letter: Letter
  readonly onRetried: () => Promise<void>
}): JSX.Element {
  const said = useSignal('')
  const isSure = useSignal(false)
  const { commandId, toolName, lane, error, attempts, failedAtMs, mayHaveRun, canRetry, retryProblem } =
    letter
  const retry = async (): Promise<void> => {
    const params = { sessionId, commandId }
    try {
      const body = { evenIfItMayHaveRun: mayHaveRun }
      const { exitCode } = await client.call('retryDeadLetter', { params, body })
      said.value =
        exitCode === 0 ? 'The call succeeded.' : `The call failed again with exit code ${exitCode}.`
    } catch (problem) {
      said.value = describeFailure(problem)
    }
    await onRetried()
  }
  return (
    <article class="card">
      <div class="toolbar">
        <h3 class="title">
          <code>
            <Line text={toolName} max={80} />
          </code>
        </h3>
        <Status status="dead" />
        {visitor.value?.readsOnly === undefined && canRetry && !isSure.value && (
          <button
            type="button"
            onClick={() => {
              if (mayHaveRun) isSure.value = true
              else void retry()
            }}
          >
            {mayHaveRun ? 'Retry…' : 'Retry'}
          </button>
        )}
        {isSure.value && (
          <button type="button" class="danger" onClick={() => void retry()}>
            Run it, although it may already have run
          </button>
        )}
      </div>
      <p class="totals">
        lane {lane} · {count(attempts, 'attempt')} · {ago(failedAtMs)}
        {mayHaveRun && ' · may have done some of its work'}
        {retryProblem !== undefined && ` · ${noRetry[retryProblem]}`}
      </p>
      <p class="failure">
        <Line text={error} max={500} />
      </p>
      <p role="status">{said.value}</p>
      <Json label={`Input of ${toolName}`} value={letter.args} />
    </article>
  )
}
