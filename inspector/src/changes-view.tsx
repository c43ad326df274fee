import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { safeLine } from '../../src/cli/terminal/safe-text.js'
import { client, describeFailure, type FileChange, type Run, visitor } from './api.js'
import { Diff } from './diff.js'
import { count } from './format.js'
import { Line } from './text.js'

/** The file changes of tools in each run, with undo. */
export function ChangesView({
  sessionId,
  runs,
}: {
  readonly sessionId: string
  readonly runs: readonly Run[]
}): JSX.Element {
  const chosen = useSignal<string | undefined>(undefined)
  const runId = chosen.value ?? runs.at(-1)?.runId
  const changes = useSignal<readonly FileChange[] | undefined>(undefined)
  const said = useSignal('')
  /** The files that an undo did not restore, and why. */
  const stayed = useSignal<readonly string[]>([])
  const isSure = useSignal(false)
  const read = async (): Promise<void> => {
    try {
      const query = { diff: true, ...(runId !== undefined && { runId }) }
      changes.value = (await client.call('listChanges', { params: { sessionId }, query })).changes
    } catch (error) {
      changes.value = []
      said.value = describeFailure(error)
    }
  }
  useEffect(() => {
    said.value = ''
    stayed.value = []
    isSure.value = false
    if (runId !== undefined) void read()
  }, [sessionId, runId])
  const undo = async (): Promise<void> => {
    isSure.value = false
    try {
      const body = runId === undefined ? {} : { runId }
      const { restored, refused } = await client.call('undoChanges', { params: { sessionId }, body })
      said.value = `Restored ${count(restored.length, 'file')}.`
      stayed.value = refused.map(({ path, why }) => `${path}: ${why}`)
      await read()
    } catch (error) {
      said.value = describeFailure(error)
    }
  }
  const undoable = (changes.value ?? []).filter((one) => one.undone !== true)
  const canUndo = visitor.value?.readsOnly === undefined && undoable.length > 0
  if (runs.length === 0) return <p class="empty">This session has no run yet.</p>
  return (
    <div class="changes">
      <div class="toolbar">
        <label class="filter">
          Run
          <select
            value={runId}
            onChange={({ currentTarget }) => {
              chosen.value = currentTarget.value
            }}
          >
            {runs.map((run, at) => (
              <option key={run.runId} value={run.runId}>
                {at + 1}: {safeLine(run.prompt, 60)}
              </option>
            ))}
          </select>
        </label>
        {canUndo && !isSure.value && (
          <button
            type="button"
            class="danger"
            onClick={() => {
              isSure.value = true
            }}
          >
            Undo these changes…
          </button>
        )}
        {isSure.value && (
          <button type="button" class="danger" onClick={() => void undo()}>
            Restore {count(undoable.length, 'file')} now
          </button>
        )}
      </div>
      <p role="status">{said.value}</p>
      {stayed.value.length > 0 && (
        <ul class="note" aria-label="Not restored">
          {stayed.value.map((one) => (
            <li key={one}>
              <Line text={one} max={400} />
            </li>
          ))}
        </ul>
      )}
      {changes.value?.length === 0 && <p class="empty">Tools changed no files in this run.</p>}
      {changes.value?.map((change) => (
        <section key={change.path} class="change" aria-label={change.path}>
          <h2 class="title">
            <code>
              <Line text={change.path} max={200} />
            </code>{' '}
            <small>
              {change.kind} <span class="added">+{change.added ?? 0}</span>{' '}
              <span class="removed">−{change.removed ?? 0}</span>
              {change.undone === true && ' · undone'}
            </small>
          </h2>
          {change.whyNot !== undefined && (
            <p class="note">
              <Line text={change.whyNot} max={300} />
            </p>
          )}
          {change.diff !== undefined && (
            <Diff label={`Changes of ${change.path}`} text={change.diff} path={change.path} />
          )}
        </section>
      ))}
    </div>
  )
}
