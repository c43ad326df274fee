// Offers the tools of a session on the current directory to another agent, over standard input and output. Reading is allowed; what
// changes anything is refused, since nobody is there to be asked. Configure it in the other agent as `node examples/mcp-serve.mjs`.
import { Agent, serveMcp } from 'capstan'

const agent = await Agent.create()
const session = agent.session(process.cwd(), { mode: 'read-only' })
const serving = await serveMcp(session, 'stdio', { tools: ['read', 'grep', 'glob', 'ls', 'bash'] })
await serving.ended
await agent.close()
