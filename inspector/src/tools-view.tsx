import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Operations } from '../../src/client/operations.js'
import { client, describeFailure } from './api.js'
import { Json, Line } from './text.js'

type Tools = Operations['listTools']['output']['tools']
type Servers = Operations['getMcpStatus']['output']['servers']

/** The tools of a session, and the health of its MCP servers. */
export function ToolsView({ sessionId }: { readonly sessionId: string }): JSX.Element {
  const tools = useSignal<Tools>([])
  const servers = useSignal<Servers>([])
  const failure = useSignal('')
  useEffect(() => {
    const params = { sessionId }
    const read = async (): Promise<void> => {
      tools.value = (await client.call('listTools', { params })).tools
      servers.value = (await client.call('getMcpStatus', { params })).servers
    }
    void read().catch((error: unknown) => {
      failure.value = describeFailure(error)
    })
  }, [sessionId])
  return (
    <div class="tools">
      {failure.value !== '' && <p class="failure">{failure.value}</p>}
      <h2>MCP servers</h2>
      {servers.value.length === 0 && <p class="quiet">This session has none.</p>}
      {servers.value.map((server, at) => (
        <details key={at}>
          <summary>
            <Line text={String(server['name'] ?? 'server')} max={80} />{' '}
            <span class="badge">
              <Line text={String(server['status'] ?? server['state'] ?? 'unknown')} max={40} />
            </span>
          </summary>
          <Json label="Server" value={server} />
        </details>
      ))}
      <h2>Tools</h2>
      {tools.value.map((tool) => (
        <details key={tool.name}>
          <summary>
            <code>
              <Line text={tool.name} max={80} />
            </code>{' '}
            <Line text={tool.description} max={120} />
          </summary>
          <Json label={`Definition of ${tool.name}`} value={tool} />
        </details>
      ))}
    </div>
  )
}
