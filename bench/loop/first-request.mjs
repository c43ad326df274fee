// Measures the size of the first request to a model without the user's prompt.
import { printTable } from '../report.mjs'

/** @param {import('./workplace.mjs').Workplace} workplace */
export async function measureFirstRequest({ root, server, agentFor }) {
  const agent = await agentFor('answer')
  await agent.session(root).send('Hello')
  const body = await server.lastBody()
  const { tools, messages } = JSON.parse(body)
  const bytes = Buffer.byteLength(body)
  const rows = [
    { name: 'the whole request', bytes },
    { name: 'instructions', bytes: bytesOf(messages[0]) },
    ...tools.map((/** @type {{ function: { name: string } }} */ tool) => ({
      name: `tool ${tool.function.name}`,
      bytes: bytesOf(tool),
    })),
  ]
  const title = 'First request'
  const explanation = 'Bytes of the first request to a model, with the tools that every session has.'
  printTable(
    title,
    explanation,
    ['', 'bytes'],
    rows.map(({ name, bytes }) => [name, bytes.toLocaleString('en-US')]),
  )
  return { area: { title, explanation, rows }, bytes }
}

/** @param {unknown} value */
function bytesOf(value) {
  return Buffer.byteLength(JSON.stringify(value))
}
