// A chat page without a framework, with the client of the server: `node examples/web/native.mjs`, then open the address
// it prints. The page gets a cookie; the token stays in this process.
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent } from 'capstan'
import { createServer, listen } from 'capstan/server'

const cookie = randomBytes(24).toString('base64url')
const agent = await Agent.create()
const server = createServer(agent, {
  workspaces: [process.argv[2] ?? '.'],
  authenticate: (request) =>
    request.headers.get('cookie')?.includes(`chat=${cookie}`) ? { id: 'me' } : undefined,
})

const page = `<!doctype html><meta charset="utf-8"><title>Capstan</title>
<form><input name="prompt" size="60" autofocus> <button>Send</button></form><pre></pre>
<script type="module">
import { createClient } from '/client.js'
const client = createClient({ url: location.origin })
const session = await client.createSession()
const out = document.querySelector('pre')
const show = (text) => out.append(text)
document.querySelector('form').onsubmit = async (submitted) => {
  submitted.preventDefault()
  const field = submitted.target.prompt
  show('\\n> ' + field.value + '\\n')
  const run = await session.run(field.value)
  field.value = ''
  for await (const event of run) {
    if (event.type === 'text_delta') show(event.text)
    if (event.type === 'tool_execution_start') show('\\n[' + event.toolName + ' ' + event.args + ']\\n')
    if (event.type === 'confirmation_required') {
      const approved = confirm('Allow ' + event.toolName + '?\\n' + JSON.stringify(event.args, null, 2) + '\\n' + event.reasons.join('\\n'))
      await session.answerApproval(event.toolId, { decision: approved ? 'once' : 'reject' })
    }
    if (event.type === 'error') show('\\n' + event.error + '\\n')
  }
}
</script>`

const clientFile = join(import.meta.dirname, '../../dist/client/index.js')
const { url } = await listen(
  async (request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/client.js')
      return new Response(await readFile(clientFile, 'utf8'), {
        headers: { 'content-type': 'text/javascript' },
      })
    if (pathname !== '/') return server(request)
    const headers = {
      'content-type': 'text/html',
      'set-cookie': `chat=${cookie}; HttpOnly; SameSite=Strict; Path=/`,
    }
    return new Response(page, { headers })
  },
  { port: 0 },
)
console.log(`Open ${url}`)
