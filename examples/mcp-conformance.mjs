// A client for the protocol's conformance suite, which starts it with the address of its test server as the last
// argument and says in MCP_CONFORMANCE_SCENARIO what is tried. Connects, lists, and calls what there is to call.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent } from 'capstan'

const url = process.argv.at(-1) ?? ''
const place = await mkdtemp(join(tmpdir(), 'capstan-conformance-'))
const agent = await Agent.create({}, { userDir: join(place, 'user') })
/** @type {Map<string, string>} */
const kept = new Map()
const session = agent.session(place, {
  // A field without choices is left out, so that the server's default applies.
  onQuestion: (questions) => ({
    answers: questions.map(({ options }) => (options?.[0] === undefined ? [] : [options[0].label])),
  }),
  mcp: {
    sampling: async () => ({ model: 'none', text: 'ok' }),
    signIn: {
      store: {
        load: (key) => kept.get(key),
        save: (key, value) => void kept.set(key, value),
        remove: (key) => void kept.delete(key),
      },
      // The sign-in of the suite asks no user: it answers with the address to continue at.
      authorize: async ({ url: address }) =>
        (await fetch(address, { redirect: 'manual' })).headers.get('location') ?? '',
    },
  },
})
try {
  await session.addMcp({ name: 'suite', url, oauth: await signInOf(url) })
  for (const { name, parameters } of session
    .toolDefinitions()
    .filter((one) => one.name.startsWith('mcp__suite__')))
    console.log(name, (await session.tool(name, argumentsFor(parameters))).output)
} finally {
  await agent.close()
  await rm(place, { recursive: true, force: true })
}

/** Something for every field that has to be there. @param {Readonly<Record<string, unknown>>} schema */
function argumentsFor({ properties = {}, required = [] }) {
  const fields = /** @type {Record<string, { type?: string }>} */ (properties)
  return Object.fromEntries(
    /** @type {string[]} */ (required).map((name) => [name, fields[name]?.type === 'string' ? 'x' : 5]),
  )
}

/**
 * The suite signs in at another port of this machine, where no server may send a client unless its configuration allows
 * it. Some scenarios come with a client that is registered already.
 * @param {string} address
 */
async function signInOf(address) {
  const { client_id: clientId, client_secret: clientSecret } = JSON.parse(
    process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}',
  )
  const signsIn = process.env['MCP_CONFORMANCE_SCENARIO']?.startsWith('auth/') === true
  const authUrl = signsIn ? await signInServerOf(address) : undefined
  return {
    ...(authUrl !== undefined && { authUrl }),
    ...(clientId !== undefined && { clientId, clientSecret }),
  }
}

/** @param {string} address @returns {Promise<string | undefined>} */
async function signInServerOf(address) {
  const { origin, pathname } = new URL(address)
  const known = '/.well-known/oauth-protected-resource'
  const challenge = (await fetch(address, { method: 'POST' })).headers.get('www-authenticate') ?? ''
  const named = /resource_metadata="([^"]+)"/.exec(challenge)?.[1]
  for (const place of [named, `${origin}${known}${pathname}`, `${origin}${known}`]) {
    const found = place === undefined ? undefined : await fetch(place)
    if (found?.ok) return (await found.json()).authorization_servers?.[0]
  }
  return undefined
}
