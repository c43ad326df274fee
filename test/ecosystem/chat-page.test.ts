import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { createServer, listen } from '../../src/server/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { root } from '../house/run.js'
import { chromium, openPage } from '../inspector/browser.js'
import { directory } from '../server/support.js'
import { installedPackages } from './install.js'

/** Shows the example, and does what a user would do: writes a message, sends it, allows the call. */
const entry = `
import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { Chat } from ${JSON.stringify(join(root, 'examples/web/chat.jsx'))}
const report = (body) => fetch('/seen', { method: 'POST', body: JSON.stringify(body) })
addEventListener('error', ({ message }) => report({ error: message }))
addEventListener('unhandledrejection', ({ reason }) => report({ error: String(reason) }))
createRoot(document.querySelector('#root')).render(createElement(Chat, { id: 'page-1' }))
const until = async (find) => {
  for (;;) {
    const found = find()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
const button = (name) => [...document.querySelectorAll('button')].find((one) => one.textContent === name && !one.disabled)
const input = await until(() => document.querySelector('input'))
Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, 'Write a file.')
input.dispatchEvent(new Event('input', { bubbles: true }))
;(await until(() => button('Send'))).click()
const allow = await until(() => button('Allow'))
if (button('Send')) throw new Error('A message can be sent while a call waits for its approval.')
const asked = document.body.innerText
allow.click()
await until(() => document.body.innerText.includes('Written.') && button('Send'))
await report({ asked, shown: document.body.innerText })
`

/** The example with the packages of users, as one script for a browser. */
async function bundled(): Promise<string> {
  const place = directory()
  mkdirSync(place, { recursive: true })
  const input = join(place, 'entry.js')
  writeFileSync(input, entry)
  const bundle = await rolldown({
    input,
    platform: 'browser',
    resolve: {
      modules: [installedPackages],
      alias: { '@ai-sdk/react': join(installedPackages, 'ai-react-4') },
    },
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    logLevel: 'silent',
  })
  const { output } = await bundle.generate({ format: 'esm', codeSplitting: false })
  await bundle.close()
  return output[0].code
}

it.skipIf(chromium === undefined)(
  'the example of a chat page sends a message, shows an approval and its result in Chromium',
  async () => {
    const workspace = directory()
    const agent = await Agent.create()
    const server = createServer(agent, {
      workspaces: [workspace],
      authenticate: (request) =>
        request.headers.get('cookie')?.includes('user=ann') ? { id: 'ann' } : undefined,
      session: {
        model: scriptedModel([
          {
            text: 'I write it.',
            toolCalls: [{ name: 'write', args: { file_path: 'a.txt', content: 'hi' }, id: 'call-1' }],
          },
          'Written.',
        ]),
      },
    })
    const script = await bundled()
    type Seen = { readonly asked?: string; readonly shown?: string; readonly error?: string }
    let report: (seen: Seen) => void = () => undefined
    const reported = new Promise<Seen>((resolve) => {
      report = resolve
    })
    const { url, close } = await listen(
      async (request) => {
        const { pathname } = new URL(request.url)
        if (pathname === '/page')
          return new Response(
            '<!doctype html><meta charset="utf-8"><div id="root"></div><script type="module" src="/page.js"></script>',
            { headers: { 'content-type': 'text/html', 'set-cookie': 'user=ann; HttpOnly; SameSite=Strict' } },
          )
        if (pathname === '/page.js')
          return new Response(script, { headers: { 'content-type': 'text/javascript' } })
        if (pathname !== '/seen') return server(request)
        report(await request.json())
        return new Response(null, { status: 204 })
      },
      { port: 0 },
    )
    try {
      const { page } = await openPage()
      await page.goto(`${url}/page`)
      const { asked, shown, error } = await reported
      expect(error).toBeUndefined()
      expect(asked).toContain('I write it.')
      expect(asked).toContain('a.txt')
      expect(shown).toContain('Write a file.')
      expect(shown).toContain('Written.')
      expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('hi')
      const lines = readFileSync(join(root, 'examples/web/chat.jsx'), 'utf8').trimEnd().split('\n')
      expect(lines.length).toBeLessThan(100)
    } finally {
      await server.close()
      await close()
      await agent.close()
    }
  },
)
