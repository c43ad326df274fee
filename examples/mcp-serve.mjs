// Offers the tools of a session on the current directory to another agent, over standard input and output. It reads and
// searches, and changes nothing. Configure it in the other agent as `node examples/mcp-serve.mjs`.
import { Agent, serveMcp } from 'capstan'

const agent = await Agent.create()
const session = agent.session(process.cwd(), { mode: 'read-only' })
const serving = await serveMcp(session, 'stdio', { tools: ['read', 'grep', 'glob', 'ls'] })
await serving.ended
await agent.close()
