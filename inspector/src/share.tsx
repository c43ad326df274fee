import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { client, describeFailure } from './api.js'
import { CopyButton } from './copy.js'

/** Links for reading this session: create, copy and revoke. */
export function ShareLinks({ sessionId }: { readonly sessionId: string }): JSX.Element {
  const links = useSignal<readonly { linkId: string; expiresAtMs: number }[]>([])
  const made = useSignal('')
  const minutes = useSignal('60')
  const failure = useSignal('')
  const params = { sessionId }
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      failure.value = ''
      await work()
      links.value = (await client.call('listLinks', { params })).links
    } catch (error) {
      failure.value = describeFailure(error)
    }
  }
  useEffect(() => {
    void attempt(async () => undefined)
  }, [sessionId])
  return (
    <section class="card" aria-label="Links for reading">
      <p>Everyone who has the link can read this session. It does not allow changes.</p>
      <div class="answers">
        <label class="filter">
          Valid for
          <select
            value={minutes.value}
            onChange={({ currentTarget }) => {
              minutes.value = currentTarget.value
            }}
          >
            <option value="15">15 minutes</option>
            <option value="60">1 hour</option>
            <option value="1440">1 day</option>
            <option value="10080">1 week</option>
          </select>
        </label>
        <button
          type="button"
          onClick={() =>
            void attempt(async () => {
              const body = { minutes: Number(minutes.value) }
              const { path } = await client.call('createLink', { params, body })
              made.value = `${location.origin}${path}`
            })
          }
        >
          Create a link
        </button>
      </div>
      {made.value !== '' && (
        <div class="answers">
          <input readOnly aria-label="The link" value={made.value} />
          <CopyButton label="Copy" text={() => made.value} />
        </div>
      )}
      <ul class="links">
        {links.value.map(({ linkId, expiresAtMs }) => (
          <li key={linkId}>
            <code>{linkId}</code> until {new Date(expiresAtMs).toLocaleString()}{' '}
            <button
              type="button"
              class="danger"
              onClick={() =>
                void attempt(async () => {
                  await client.call('revokeLink', { params: { sessionId, linkId } })
                  made.value = ''
                })
              }
            >
              Revoke
            </button>
          </li>
        ))}
      </ul>
      {failure.value !== '' && <p class="failure">{failure.value}</p>}
    </section>
  )
}
