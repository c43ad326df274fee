import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'

let base: string
let work: string
let agent: Agent
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'capstan-program-'))
  work = join(base, 'work')
  await mkdir(join(work, 'crates/a'), { recursive: true })
  await writeFile(join(work, 'README.md'), 'planningMode is here\n')
  await writeFile(join(work, 'crates/a/lib.rs'), 'struct PermissionPolicy;\n')
  await writeFile(join(work, '.env'), 'SECRET=1\n')
  agent = await Agent.create({}, { userDir: join(base, 'user') })
})
afterEach(async () => {
  await agent.close()
  await rm(base, { recursive: true, force: true })
})

describe('session.program', () => {
  it('runs a script that reads and searches, and gives its result as data', async () => {
    const session = agent.session(work)
    const result = await session.program({
      source: `
        export default async function run(ctx, inputs) {
          const text = await ctx.readFile('README.md');
          const hits = await ctx.grep(inputs.q, { glob: '*.md' });
          return { summary: 'ok', hasHits: text.includes(inputs.q) && hits.includes(inputs.q) };
        }
      `,
      inputs: { q: 'planningMode' },
      allowedTools: ['read', 'grep'],
      limits: { timeoutMs: 30_000, maxToolCalls: 12, maxOutputBytes: 65_536 },
    })
    expect(result.exitCode).toBe(0)
    const meta = JSON.parse(result.metadataJson ?? '{}')
    expect(meta.script_result).toEqual({ summary: 'ok', hasHits: true })
    expect(meta.program.tool_calls.map(({ tool_name }: { tool_name: string }) => tool_name)).toEqual([
      'read',
      'grep',
    ])
  })

  it('runs a file of the workspace with an array of paths', async () => {
    await writeFile(
      join(work, 'search.js'),
      `export default async function run(ctx, inputs) {
        const files = await ctx.glob('crates/**/*.rs')
        const found = []
        for (const file of files.slice(0, 20))
          if ((await ctx.readFile(file)).includes(inputs.query)) found.push(file)
        return { summary: 'Found ' + found.length, found }
      }`,
    )
    const session = agent.session(work)
    const { metadata } = await session.program({ path: 'search.js', inputs: { query: 'PermissionPolicy' } })
    expect(metadata?.['script_result']).toEqual({ summary: 'Found 1', found: ['crates/a/lib.rs'] })
  })

  it('called by a model, makes its calls with what the model may do', async () => {
    const source = `export default async (ctx) => {
      const secret = await ctx.tool('read', { file_path: '.env' })
      const write = await ctx.tool('write', { file_path: 'x.txt', content: 'x' })
      return { secret: secret.exitCode, write: write.exitCode, said: secret.output }
    }`
    const model = scriptedModel([
      {
        toolCalls: [
          {
            name: 'program',
            args: {
              source: source
                .replace('export default async (ctx)', 'export default async function run(ctx)')
                .replace('=> {', '{'),
            },
          },
        ],
      },
      'done',
    ])
    const session = agent.session(work, {
      model,
      permissionPolicy: { deny: ['read(**/.env*)'] },
    })
    await session.send('go')
    const result = JSON.stringify(model.requests[1]?.chatHistory.at(-1))
    expect(result).toContain('Program script completed')
    expect(result).toMatch(/\\"secret\\": 1/)
    expect(result).toMatch(/\\"write\\": 1/)
    expect(result).toContain('is denied by the rule')
    expect(result).not.toContain('SECRET=1')
  })
})
