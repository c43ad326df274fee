import { afterAll, describe, expect, it } from 'vitest'
import { toolboxWorkspace } from '../../test/toolbox/workspace.js'
import type { AnyGovernedTool, ToolCallContext } from '../tool/contract.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import { type Envelope, errorEnvelope } from '../tool/envelope.js'
import type { JsonObject } from '../tool/json.js'
import type { ToolRuntime } from '../tool/runtime.js'
import type { Invocation, RuntimeTools } from '../tool/session-services.js'
import { toToolResult } from '../tool/tool-result.js'
import { globTool } from '../toolbox/glob.js'
import { grepTool } from '../toolbox/grep.js'
import { readTool } from '../toolbox/read.js'
import { createProgramMachine } from './machine/machine.js'
import { createProgramTool } from './program-tool.js'

const machine = createProgramMachine()
afterAll(() => machine.close())

const reading: readonly AnyGovernedTool[] = [readTool, globTool, grepTool]

function lend(tools: readonly AnyGovernedTool[], runtime: ToolRuntime = {}) {
  const asked: Invocation[] = []
  const lent: RuntimeTools = {
    callAll: (invocations, options) =>
      Promise.all(
        invocations.map(async (invocation): Promise<Envelope> => {
          asked.push(invocation)
          const found = tools.find(({ name }) => name === invocation.tool)
          if (found === undefined) return errorEnvelope(`Unknown tool "${invocation.tool}".`)
          return found.execute(invocation.args, {
            runtime,
            ...(options?.signal && { signal: options.signal }),
          })
        }),
      ),
    hidden: () => [],
    offer: () => undefined,
  }
  const context: ToolCallContext = {
    now: () => 1_700_000_000_000,
    runtime: { ...runtime, session: { tools: lent } },
  }
  return { asked, context }
}

const program = () => createProgramTool({ machine })
const named = (name: string, execute: (args: JsonObject) => unknown) =>
  createJsonTool({ name, description: '', parameters: { type: 'object' }, execute })

const searchAuth = `// search-auth.js
export default async function run(ctx, inputs) {
const hits = await ctx.grep(inputs.query, { glob: '*.rs' });
const files = await ctx.glob('crates/**/*.rs');
const snippets = [];
for (const file of files.slice(0, 20)) {
const content = await ctx.readFile(file);
if (content.includes(inputs.query)) {
snippets.push({ file, preview: content.slice(0, 1200) });
}
}
return {
summary: \`Found \${snippets.length} candidate files for \${inputs.query}\`,
evidence: snippets,
rawSearch: hits,
};
}`

const hasHits = `
    export default async function run(ctx, inputs) {
      const text = await ctx.readFile('README.md');
      const hits = await ctx.grep(inputs.q, { glob: '*.md' });
      return { summary: 'ok', hasHits: text.includes(inputs.q) && hits.includes(inputs.q) };
    }
  `

describe('program', () => {
  it('runs a script of the workspace over its files', async () => {
    const space = await toolboxWorkspace({
      'scripts/ptc/search-auth.js': searchAuth,
      'crates/core/src/a.rs': 'struct PermissionPolicy;\n',
      'crates/core/src/b.rs': 'struct Other;\n',
      'crates/core/odd\nname.rs': 'use PermissionPolicy;\n',
    })
    const { context } = lend(reading, space.runtime)
    const envelope = await program().execute(
      {
        path: 'scripts/ptc/search-auth.js',
        inputs: { query: 'PermissionPolicy' },
        allowed_tools: ['grep', 'glob', 'read'],
        limits: { timeoutMs: 30_000, maxToolCalls: 30, maxOutputBytes: 65_536 },
      },
      context,
    )
    const { output, exitCode, metadata } = toToolResult('program', envelope)
    expect(exitCode).toBe(0)
    expect(output).toMatch(
      /^Program script completed\.\nFound 2 candidate files for PermissionPolicy\n\nTool calls: 5\n1\. grep \(ok, exit_code=0, output_bytes=\d+\)\n2\. glob /,
    )
    expect(output).toContain('\n\nResult:\n{\n  "summary": "Found 2 candidate files for PermissionPolicy",')
    expect(metadata?.['script_result']).toMatchObject({
      evidence: expect.arrayContaining([
        { file: 'crates/core/src/a.rs', preview: 'struct PermissionPolicy;\n' },
        { file: 'crates/core/odd\nname.rs', preview: 'use PermissionPolicy;\n' },
      ]),
      rawSearch: expect.stringContaining('>crates/core/src/a.rs:1: struct PermissionPolicy;'),
    })
    expect(metadata?.['program']).toMatchObject({
      name: 'script',
      language: 'javascript',
      runtime: 'embedded-quickjs',
      success: true,
      tool_calls: ['grep', 'glob', 'read', 'read', 'read'].map((tool_name) => ({
        tool_name,
        success: true,
        exit_code: 0,
        output_bytes: expect.any(Number),
        metadata: expect.any(Object),
      })),
    })
  })

  it('runs a script that is passed as text', async () => {
    const space = await toolboxWorkspace({ 'README.md': '# planningMode\n' })
    const { context } = lend(reading, space.runtime)
    const envelope = await program().execute(
      { source: hasHits, inputs: { q: 'planningMode' }, allowed_tools: ['read', 'grep'] },
      context,
    )
    expect(envelope.metadata['script_result']).toEqual({ summary: 'ok', hasHits: true })
  })

  it('runs the same scripts over tools that are functions', async () => {
    const text = 'the PermissionPolicy of planningMode'
    const fake = (name: string, output: unknown) =>
      createJsonTool({ name, description: '', parameters: { type: 'object' }, execute: () => output })
    const { context } = lend([fake('read', text), fake('grep', text), fake('glob', ['a.rs', 'b.rs'])])
    const first = await program().execute({ source: searchAuth, inputs: { query: 'Policy' } }, context)
    expect(first.metadata['script_result']).toMatchObject({ summary: 'Found 2 candidate files for Policy' })
    const second = await program().execute({ source: hasHits, inputs: { q: 'planningMode' } }, context)
    expect(second.metadata['script_result']).toMatchObject({ hasHits: true })
  })

  it('reads long files in pieces, and some lines of them', async () => {
    const lines = Array.from({ length: 60_000 }, (_, at) => `line ${at} é`).join('\n')
    const space = await toolboxWorkspace({ 'long.txt': lines })
    const { context, asked } = lend(reading, space.runtime)
    const source = `export default async (ctx) => {
      const all = await ctx.readFile('long.txt')
      const some = await ctx.readFile('long.txt', { offset: 59_998, limit: 5 })
      return [all.length, all.endsWith('line 59999 é'), some]
    }`
    const limits = { maxOutputBytes: 4 * 1024 * 1024 }
    const envelope = await program().execute({ source, limits }, context)
    expect(envelope.metadata['script_result']).toEqual([lines.length, true, 'line 59998 é\nline 59999 é'])
    expect(asked.length).toBeGreaterThan(6)
    expect(envelope.metadata['program']).toMatchObject({ tool_calls: [{}, {}] })
  })

  it('requests the text of files and paths as data if the host has them', async () => {
    const { context, asked } = lend([
      named('read', ({ file_path }) => `lent ${file_path}\r\n`),
      named('glob', () => ['x', 'y']),
    ])
    const tools = context.runtime?.session?.tools
    const session = { tools: { ...tools, hasDataForm: () => true } as RuntimeTools }
    const lending = { ...context, runtime: { ...context.runtime, session } }
    const source = `export default async (ctx) => [await ctx.readFile('a'), await ctx.glob('*')]`
    const envelope = await program().execute({ source, allowed_tools: ['read', 'glob'] }, lending)
    expect(envelope.metadata['script_result']).toEqual(['lent a\r\n', ['x', 'y']])
    expect(asked).toEqual([
      { tool: 'read', args: { file_path: 'a', max_bytes: 65_544 }, form: 'data', id: '1' },
      { tool: 'glob', args: { pattern: '*' }, form: 'data', id: '2' },
    ])
    const refused = await program().execute({ source, allowed_tools: ['glob'] }, lending)
    expect(refused).toMatchObject({
      type: 'error',
      error_text: expect.stringContaining("tool 'read' is not allowed"),
    })
  })

  it('reports the calls before it failed, with its own lines', async () => {
    const { context } = lend([])
    const envelope = await program().execute(
      {
        source: `export default async (ctx) => {\n  console.log('about to')\n  await ctx.tool('x')\n  null.y\n}`,
      },
      context,
    )
    expect(envelope).toMatchObject({
      type: 'error',
      metadata: { exit_code: 1, error_code: 'program_failed' },
    })
    const { output } = toToolResult('program', envelope)
    expect(output).toMatch(/^program script error:\nTypeError: .*\n\s+at .*program\.js:4:/)
    expect(output).toContain(
      '\n\nTool calls: 1\n1. x (failed, exit_code=1, output_bytes=17)\n\nConsole:\nabout to',
    )
    expect(envelope.metadata['program']).toMatchObject({
      success: false,
      console: [{ level: 'log', text: 'about to' }],
    })
  })

  it('cannot call itself, whatever names are allowed', async () => {
    const { context, asked } = lend([])
    const source = `export default (ctx) => ctx.tool('program', { source: '' })`
    for (const args of [{ source }, { source, allowed_tools: ['program'] }])
      expect(await program().execute(args, context)).toMatchObject({
        error_text: expect.stringContaining("tool 'program' is not allowed for this PTC script"),
      })
    expect(asked).toEqual([])
  })

  it.each([
    [{}, /either the source .* or the path/],
    [{ source: '', path: 'a.js' }, /either the source .* or the path/],
    [{ path: 'a.py' }, /\.js, \.mjs or \.ts file/],
    [{ path: '../a.js' }, /outside|escapes|not inside|leads/],
    [{ path: 'long.js' }, /196608|192/],
    [{ source: '', limits: { timeoutMs: 0 } }, /timeoutMs/],
    [{ source: '', limits: { maxToolCalls: 1_001 } }, /maxToolCalls/],
    [{ source: '', limits: { memory: 1 } }, /memory/],
    [{ source: '', language: 'python' }, /language/],
  ])('refuses %j', async (args, message) => {
    const space = await toolboxWorkspace({ 'long.js': ' '.repeat(200_000) })
    const { context } = lend([], space.runtime)
    const envelope = await program().execute(args, context)
    expect(envelope.type === 'error' && envelope.error_text).toMatch(message)
  })

  it('touches the file with the script, and nothing else', () => {
    expect(program().touches({ path: 'a.js' })).toEqual([{ fs: 'read', path: 'a.js' }])
    expect(program().touches({ source: '' })).toEqual([])
  })

  it('stops with the call', async () => {
    const controller = new AbortController()
    const { context } = lend([
      createJsonTool({
        name: 'stop',
        description: '',
        parameters: { type: 'object' },
        execute: () => controller.abort(),
      }),
    ])
    const source = 'export default async (ctx) => { await ctx.tools.stop(); for (;;); }'
    const envelope = await program().execute({ source }, { ...context, signal: controller.signal })
    expect(envelope).toMatchObject({ error_text: expect.stringContaining('the run was aborted') })
  })

  it('removes types in every version of Node, without changing line numbers', async () => {
    const source = `enum Size { small = 1, large }
interface Inputs { readonly n: number }
type Add = (a: number) => number
export default async function run(ctx: unknown, { n }: Inputs): Promise<number> {
  const add = <T extends number>(a: T): number => a + (n as number) satisfies number
  if (n > 5) throw new Error('too large' as string)
  return add(Size.large)!
}`
    const space = await toolboxWorkspace({ 'typed.ts': source, 'bad.ts': 'type A = 1\n\nconst x: = 1\n' })
    const { context } = lend([], space.runtime)
    for (const script of [{ source, language: 'typescript' }, { path: 'typed.ts' }]) {
      const done = await program().execute({ ...script, inputs: { n: 3 } }, context)
      expect(done.metadata).toMatchObject({ script_result: 5, program: { language: 'typescript' } })
      const failed = await program().execute({ ...script, inputs: { n: 6 } }, context)
      expect(failed).toMatchObject({ error_text: expect.stringMatching(/too large\n\s+at run \(.*\.ts:6:/) })
    }
    expect(await program().execute({ path: 'bad.ts' }, context)).toMatchObject({
      error_text: expect.stringMatching(
        /^program script error:\nSyntaxError: Unexpected token\n\s+at bad\.ts:3:10/,
      ),
      metadata: { error_code: 'program_source_invalid' },
    })
  })

  it('is not blocked by a source that keeps the type stripper busy', async () => {
    const { context } = lend([])
    const source = `const x = ${'<T>(a = '.repeat(40)}1${')=>1'.repeat(40)}\nexport default () => 1`
    let ticks = 0
    const timer = setInterval(() => ticks++, 10)
    const envelope = await program().execute(
      { source, language: 'typescript', limits: { timeoutMs: 500 } },
      context,
    )
    clearInterval(timer)
    expect(envelope).toMatchObject({ metadata: { error_code: 'program_timeout' } })
    expect(ticks).toBeGreaterThan(10)
  })

  it('reports that a host provides no tools', async () => {
    expect(await program().execute({ source: '' })).toMatchObject({
      error_text: expect.stringContaining('runtime.session.tools'),
    })
  })
})
