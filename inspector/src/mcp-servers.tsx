import type { JSX } from 'preact'
import type { Operations } from '../../src/client/operations.js'
import { client } from './api.js'
import { count } from './format.js'
import { usePolled } from './polling.js'
import { Json, Line } from './text.js'

type Server = Operations['getMcpStatus']['output']['servers'][number]

const pollMs = 5_000

/** The MCP servers of a session, with their health and what went wrong. */
export function McpServers({ sessionId }: { readonly sessionId: string }): JSX.Element {
  const { value, failure } = usePolled(
    async (signal) => (await client.call('getMcpStatus', { params: { sessionId } }, signal)).servers,
    pollMs,
    [sessionId],
  )
  return (
    <section aria-label="MCP servers">
      <h2>MCP servers</h2>
      {failure.value !== '' && <p class="failure">{failure.value}</p>}
      {value.value?.length === 0 && <p class="quiet">This session has no MCP servers.</p>}
      {value.value?.map((server) => (
        <ServerCard key={server.name} server={server} />
      ))}
    </section>
  )
}

function ServerCard({ server }: { readonly server: Server }): JSX.Element {
  const { name, state, toolCount, sandbox, confined, error, failure, problems = [], needsSignIn } = server
  const shown = needsSignIn === true ? { label: 'sign-in needed', tone: 'ask' } : states[state]
  return (
    <article class="card">
      <div class="toolbar">
        <h3 class="title">
          <Line text={name} max={80} />
        </h3>
        <span class={`badge ${shown.tone}`}>{shown.label}</span>
      </div>
      <p class="totals">
        {count(toolCount, 'tool')}
        {sandbox !== undefined && sandbox !== 'none' && (
          <>
            {' '}
            · confined by <Line text={sandbox} max={60} />
          </>
        )}
        {sandbox === undefined && confined && ' · runs in a sandbox'}
        {sandbox === 'none' && ' · runs without a sandbox'}
      </p>
      {error !== undefined && (
        <p class="failure">
          <Line text={error} max={1_000} />
        </p>
      )}
      {problems.length > 0 && (
        <ul class="note">
          {problems.map((problem) => (
            <li key={problem}>
              <Line text={problem} max={300} />
            </li>
          ))}
        </ul>
      )}
      {failure !== undefined && (
        <details>
          <summary>Details of the failure</summary>
          <Json label={`Failure of ${name}`} value={failure} />
        </details>
      )}
    </article>
  )
}

const states = {
  idle: { label: 'idle: connects on use', tone: '' },
  connecting: { label: 'connecting', tone: 'ask' },
  connected: { label: 'connected', tone: 'allow' },
  down: { label: 'down: retried later', tone: 'deny' },
  disabled: { label: 'disabled', tone: '' },
} as const
