import { openWorkplace } from '../loop/workplace.mjs'
import { createAgent, tool } from 'langchain'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
const w = await openWorkplace()
const model = new ChatOpenAI({ model: 'm', apiKey: 'none', configuration: { baseURL: w.server.url+'/rounds-3/v1' }, useResponsesApi: false })
for (const f of [async()=>'x', ]) {
const agent = createAgent({ model, tools: [tool(f, { name: 'read', description: 'r', schema: z.object({file_path:z.string()}) })], systemPrompt: 'hi' })
const r = await agent.invoke({ messages: [{role:'user',content:'go'}] }, {recursionLimit: 20})
console.log(r.messages.map(m=>[m.getType(), m.id, m.tool_call_id, JSON.stringify(m.tool_calls), String(m.content).slice(0,30)]))
}
await w.leave()
