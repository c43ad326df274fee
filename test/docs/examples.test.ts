import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { printed, root, runNode } from '../house/run.js'
import { listFiles } from '../house/source-tree.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

const page = readFileSync(join(root, 'examples/README.md'), 'utf8')
const named = [...page.matchAll(/^\| `([^`]+)`/gm)].map(([, path = '']) => `examples/${path}`)

describe('the examples', () => {
  it('are all on their page, each with the file to start', () => {
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
    const folders = listFiles('examples', /\.mjs$/).map((path) => path.split('/').slice(0, 2).join('/'))
    expect([...new Set(folders)].filter((each) => !named.some((path) => path.startsWith(each)))).toEqual([])
  })

  it('serve an agent directory', async () => {
    const outcome = await runNode(['examples/agent-dir/serve.mjs', '--once'])
    expect(printed(outcome)).toMatch(/^exit code 0\nweekdays: completed\n/)
  })

  it('send calls to workers, and lose none when one of them is killed', async () => {
    const outcome = await runNode(['examples/queue-worker/host.mjs'])
    expect(printed(outcome)).toMatch(/^exit code 0\n[\s\S]*7 crates weighed\n$/)
  })

  it('offer a session to another agent', async () => {
    const place = temporaryDirectory()
    writeFileSync(join(place, 'log.txt'), 'fair wind\n')
    const agent = await Agent.create({}, { userDir: join(place, 'user') })
    // Without a sandbox around it: the session in it has its own.
    const session = agent.session(place, { sandbox: 'off' })
    await session.addMcpServer('ship', 'stdio', process.execPath, [join(root, 'examples/mcp-serve.mjs')])
    const { output } = await session.tool('mcp__ship__read', { file_path: 'log.txt' })
    expect(output).toContain('fair wind')
    await agent.close()
  })
})
