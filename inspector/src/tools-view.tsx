import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Operations } from '../../src/client/operations.js'
import { client, describeFailure } from './api.js'
import { McpServers } from './mcp-servers.js'
import { Json, Line } from './text.js'

type Tools = Operations['listTools']['output']['tools']

/** The tools of a session, and the health of its MCP servers. */
export function ToolsView({ sessionId }: { readonly sessionId: string }): JSX.Element {
  const tools = useSignal<Tools>([])
  const failure = useSignal('')
  useEffect(() => {
    const params = { sessionId }
    const read = async (): Promise<void> => {
      tools.value = (await client.call('listTools', { params })).tools
    }
    void read().catch((error: unknown) => {
      failure.value = describeFailure(error)
    })
  }, [sessionId])
  return (
    <div class="tools">
      {failure.value !== '' && <p class="failure">{failure.value}</p>}
      <McpServers sessionId={sessionId} />
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
