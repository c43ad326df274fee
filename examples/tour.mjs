// The tour behind `npm start`: one session on a small workspace of its own, driven by the built-in offline model. It searches, edits
// after a person agreed, runs a command in the sandbox, and is refused. Needs no key and no network, and leaves nothing behind.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent } from 'capstan'

const color = process.stdout.isTTY && !process.env['NO_COLOR']
/** @param {number} code @param {string} text */
const paint = (code, text) => (color ? `\u001b[${code}m${text}\u001b[0m` : text)
/** @param {string} text @param {string} [margin] */
const indent = (text, margin = '    ') =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => `${margin}${line}`.trimEnd())
    .join('\n')
/** @param {string} text */
const shorten = (text) => {
  const lines = text.trimEnd().split('\n')
  return lines.length > 6 ? [...lines.slice(0, 5), `… ${lines.length - 5} more lines`].join('\n') : text
}

const place = await mkdtemp(join(tmpdir(), 'capstan-tour-'))
/** The name of the temporary directory says nothing. @param {string} text */
const plain = (text) => text.replaceAll(`${place}/`, '')
const ship = join(place, 'ship')
await mkdir(join(ship, 'src'), { recursive: true })
await writeFile(join(ship, 'src/engine.js'), "export const speed = 9\nexport const heading = 'north'\n")
await writeFile(
  join(ship, 'src/engine.test.js'),
  "import { speed } from './engine.js'\nif (speed !== 12) throw new Error('too slow: ' + speed)\nconsole.log('engine: ok')\n",
)
await writeFile(join(ship, 'AGENTS.md'), 'The ship sails at twelve knots.\n')
await writeFile(join(ship, '.env'), 'HARBOUR_KEY=do-not-show\n')

const agent = await Agent.create({}, { userDir: join(place, 'user') })
const session = agent.session(ship, {
  permissionPolicy: {
    allow: ['bash(node src/*)'],
    deny: ['read(**/.env*)', 'bash(rm *)'],
  },
  onAsk: ({ toolName, args, reasons }) => {
    console.log(paint(33, `  ? ${toolName} ${JSON.stringify(args)}`))
    console.log(indent(plain(reasons.join('; '))))
    console.log(paint(33, '    yes, once (a person would decide here)'))
    return { decision: 'once' }
  },
})

/** Sends one prompt and prints what happens as it happens. @param {string} title @param {string} prompt */
async function ask(title, prompt) {
  console.log(`\n${paint(1, title)}\n  ${paint(36, `> ${prompt}`)}`)
  let text = ''
  for await (const event of await session.stream(prompt)) {
    if (event.type === 'text_delta') text += event.text
    if (event.type === 'tool_start') {
      if (text.trim() !== '') console.log(indent(plain(text), '  '))
      text = ''
    }
    if (event.type === 'tool_execution_start') console.log(`  ${paint(35, event.toolName)} ${event.args}`)
    if (event.type === 'tool_end') {
      const mark = event.exitCode === 0 ? paint(32, '✓') : paint(31, '✗')
      console.log(`  ${mark} ${indent(plain(shorten(event.toolOutput))).slice(4)}`)
    }
    if (event.type === 'notice') console.log(indent(paint(33, `note: ${event.message}`), '  '))
    if (event.type === 'agent_end') {
      console.log(indent(plain(text), '  '))
      const { rounds, toolCallsCount } = event.result
      console.log(paint(2, `  (${rounds} rounds, ${toolCallsCount} tool calls)`))
    }
    if (event.type === 'error') console.log(paint(31, `  ${event.error}`))
  }
}

console.log(paint(1, 'Capstan: a session on a small workspace, with the built-in offline model'))
try {
  await ask('1. A question is answered by searching', 'Where is "speed" defined?')
  await ask('2. A command runs in the sandbox', 'Run `node src/engine.test.js`')
  await ask('3. An edit is made after approval', 'Replace "speed = 9" by "speed = 12" in src/engine.js')
  await ask('4. The check passes now', 'Run `node src/engine.test.js`')
  await ask('5. What a rule denies is refused, and explained', 'Read .env')

  console.log(`\n${paint(1, '6. The host looks at what happened')}`)
  for (const { name, endedAt, verdict = '', approval } of session.traceEvents()) {
    const how = endedAt === 'done' ? 'ran' : `stopped at "${endedAt}"`
    const who = approval === undefined ? '' : `, approved ${approval}`
    console.log(`  ${name.padEnd(6)} ${verdict.padEnd(6)} ${how}${who}`)
  }
  console.log(`  src/engine.js is now:\n${indent(await readFile(join(ship, 'src/engine.js'), 'utf8'))}`)
} finally {
  await agent.close()
  await rm(place, { recursive: true, force: true })
}
