// A client for the protocol's conformance suite, which starts it with the address of its test server as the last argument and says in
// MCP_CONFORMANCE_SCENARIO what is tried. Connects, lists, and calls what there is to call.
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
  onQuestion: (questions) => ({ answers: questions.map(({ options }) => [options?.[0]?.label ?? 'yes']) }),
  mcp: {
    sampling: async () => ({ model: 'none', text: 'ok' }),
    signIn: {
      store: {
        load: (key) => kept.get(key),
        save: (key, value) => void kept.set(key, value),
        remove: (key) => void kept.delete(key),
      },
      // The suite's sign-in asks nobody: it answers with where it leads to.
      authorize: async ({ url: address }) =>
        (await fetch(address, { redirect: 'manual' })).headers.get('location') ?? '',
    },
  },
})
try {
  await session.addMcp({ name: 'suite', url, oauth: {} })
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
