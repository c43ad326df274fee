import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { client, describeFailure } from './api.js'
import { Plain } from './text.js'
import type { CallItem } from './timeline.js'

const pageSize = 1_000_000

/** The whole output of a call whose output was truncated, read from its file on demand. */
export function WholeOutput({
  sessionId,
  call,
}: {
  readonly sessionId: string
  readonly call: CallItem
}): JSX.Element | null {
  const text = useSignal<string | undefined>(undefined)
  const said = useSignal('')
  const { end, runId, toolId, toolName } = call
  if (typeof end?.metadata['output_path'] !== 'string') return null
  const read = async (): Promise<void> => {
    try {
      let whole = ''
      for (;;) {
        const page = await client.call('getCallOutput', {
          params: { sessionId, runId, callId: toolId },
          query: { from: whole.length, limit: pageSize },
        })
        whole += page.text
        if (page.text !== '' && whole.length < page.total) continue
        said.value = page.isCut ? 'The file is larger than 10 MiB. The rest is not shown.' : ''
        break
      }
      text.value = whole
    } catch (error) {
      said.value = describeFailure(error)
    }
  }
  return (
    <div class="whole-output">
      {text.value === undefined ? (
        <p>
          The output was truncated.{' '}
          <button type="button" onClick={() => void read()}>
            Open the whole output
          </button>
        </p>
      ) : (
        <>
          <h2 class="label">Whole output ({text.value.length.toLocaleString()} characters)</h2>
          <Plain label={`Whole output of ${toolName}`} text={text.value} />
        </>
      )}
      <p role="status">{said.value}</p>
    </div>
  )
}
