import { type } from 'arktype'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type {
  AgentMiddleware,
  AnyTool,
  CreateToolOptions,
  DynamicToolIndex,
  EmbedToolsOptions,
  Envelope,
  ErrorEnvelope,
  GovernedTool,
  NormalizedToolOutput,
  OutputEnvelope,
  RequirementSet,
  Tool,
  ToolApprovalContext,
  ToolApprovalPolicy,
  ToolCallContext,
  ToolKind,
  ToolMiddleware,
  ToolResult,
  ToolSet,
  UpdatableToolIndex,
} from './index.js'
import {
  createJsonTool,
  createThinkTool,
  createTool,
  errorEnvelope,
  isOutputEnvelope,
  outputEnvelope,
  toToolResult,
} from './index.js'

const input = z.object({ city: z.string(), days: z.number().default(1) })
const output = z.object({ sky: z.string().transform((sky) => sky.length) })

describe('createTool', () => {
  test('infers arguments from the input schema’s output: defaults are there', () => {
    createTool({
      name: 't',
      description: 'd',
      input,
      approval: {
        when: ({ args }) => {
          expectTypeOf(args).toEqualTypeOf<{ city: string; days: number }>()
          return true
        },
      },
      touches: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ city: string; days: number }>()
        return []
      },
      execute: (args, context) => {
        expectTypeOf(args).toEqualTypeOf<{ city: string; days: number }>()
        expectTypeOf(context).toEqualTypeOf<ToolCallContext>()
      },
    })
  })

  test('infers the output from the output schema, and checks the return type of execute against it', () => {
    const tool = createTool({ name: 't', description: 'd', input, output, execute: () => ({ sky: 'clear' }) })
    expectTypeOf(tool).toEqualTypeOf<GovernedTool<{ city: string; days: number }, { sky: number }>>()
    createTool({
      name: 't',
      description: 'd',
      input,
      output,
      execute: async () => errorEnvelope('no forecast'),
    })
    // @ts-expect-error the output schema takes a string
    createTool({ name: 't', description: 'd', input, output, execute: () => ({ sky: 3 }) })
  })

  test('infers the output from execute when there is no output schema', () => {
    const sync = createTool({ name: 't', description: 'd', input, execute: ({ days }) => days * 2 })
    expectTypeOf(sync).toEqualTypeOf<GovernedTool<{ city: string; days: number }, number>>()
    const later = createTool({ name: 't', description: 'd', input, execute: async () => ({ ok: true }) })
    expectTypeOf(later.call).returns.resolves.toEqualTypeOf<{ ok: boolean }>()
  })

  test('unwraps an envelope that execute returns', () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input,
      execute: ({ days }) => (days > 9 ? errorEnvelope('too far') : outputEnvelope({ sky: 'clear' })),
    })
    expectTypeOf(tool.call).returns.resolves.toEqualTypeOf<{ sky: string }>()
    expectTypeOf(tool.execute).returns.resolves.toEqualTypeOf<Envelope<{ sky: string }>>()
  })

  test('accepts its type parameters explicitly', () => {
    const typed = createTool<typeof input, typeof output>({
      name: 't',
      description: 'd',
      input,
      output,
      execute: () => ({ sky: 'x' }),
    })
    expectTypeOf(typed.call).returns.resolves.toEqualTypeOf<{ sky: number }>()
    const options: CreateToolOptions<typeof input> = { name: 't', description: 'd', input, execute: () => 1 }
    expectTypeOf(createTool(options)).toExtend<Tool<{ city: string; days: number }, unknown>>()
    const both = {} as CreateToolOptions<typeof input, typeof output>
    expectTypeOf(createTool(both)).toEqualTypeOf<
      GovernedTool<{ city: string; days: number }, { sky: number }>
    >()
    createTool<typeof input, undefined>({ name: 't', description: 'd', input, execute: () => 1 })
    const found: EmbedToolsOptions = { content: (tool: Tool) => tool.name, metadata: () => undefined }
    expectTypeOf(found).toExtend<EmbedToolsOptions>()
  })

  test('works in a generic function over a Zod schema', () => {
    const wrap = <Input extends z.ZodType>(schema: Input, run: (args: z.output<Input>) => unknown) => [
      createTool({ name: 't', description: 'd', input: schema, execute: run }),
      createTool({ name: 't', description: 'd', input: schema, execute: (args) => run(args) }),
      createTool({
        name: 't',
        description: 'd',
        input: schema,
        approval: { when: ({ args }) => run(args) === true },
        touches: (args) => (run(args) ? [] : []),
        execute: async (args, { signal }) => (signal?.aborted ? undefined : run(args)),
      }),
    ]
    expectTypeOf(wrap(input, ({ city, days }) => city.repeat(days))).toExtend<readonly AnyTool[]>()
    const object = <Shape extends z.ZodRawShape>(
      shape: Shape,
      run: (args: z.output<z.ZodObject<Shape>>) => string,
    ) => createTool({ name: 't', description: 'd', input: z.object(shape), execute: run })
    expectTypeOf(object({ n: z.number() }, ({ n }) => String(n))).toExtend<AnyTool>()
  })

  test('lets execute return unknown with an output schema, which is checked when it runs', () => {
    const load = (): unknown => JSON.parse('{}')
    const loadLater = async (): Promise<unknown> => load()
    const sync = createTool({ name: 't', description: 'd', input, output, execute: () => load() })
    expectTypeOf(sync).toEqualTypeOf<GovernedTool<{ city: string; days: number }, { sky: number }>>()
    const later = createTool({ name: 't', description: 'd', input, output, execute: () => loadLater() })
    expectTypeOf(later.call).returns.resolves.toEqualTypeOf<{ sky: number }>()
    const options: CreateToolOptions<typeof input, typeof output> = {
      name: 't',
      description: 'd',
      input,
      output,
      execute: (args): unknown => args,
    }
    expectTypeOf(createTool(options).call).returns.resolves.toEqualTypeOf<{ sky: number }>()
    const both = <Output extends z.ZodType>(schema: Output, run: () => unknown) =>
      createTool({ name: 't', description: 'd', input, output: schema, execute: run })
    expectTypeOf(both(z.string(), () => 1).call).returns.resolves.toEqualTypeOf<string>()
  })

  test('infers from other schema libraries as well', () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input: type({ n: 'number' }),
      execute: ({ n }) => n,
    })
    expectTypeOf(tool).toEqualTypeOf<GovernedTool<{ n: number }, number>>()
  })

  test('rejects a value that is not a schema, and a missing description', () => {
    // @ts-expect-error a JSON Schema belongs to createJsonTool
    createTool({ name: 't', description: 'd', input: { type: 'object' }, execute: () => 1 })
    // @ts-expect-error every tool needs a description
    createTool({ name: 't', input, execute: () => 1 })
  })
})

describe('tools', () => {
  test('with any arguments fit into one collection', () => {
    const tool = createTool({
      name: 't',
      description: 'd',
      input,
      approval: { when: ({ args }) => args.days > 1 },
      execute: () => 1,
    })
    expectTypeOf(tool).toExtend<AnyTool>()
    expectTypeOf<Tool<{ a: number }, string>>().toExtend<AnyTool>()
    expectTypeOf<GovernedTool<{ a: number }, string>>().toExtend<Tool<{ a: number }, string>>()
  })

  test('have a kind of the Agent Client Protocol', () => {
    expectTypeOf<ToolKind>().toEqualTypeOf<
      'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'switch_mode' | 'other'
    >()
  })

  test('that are created from a JSON Schema have the arguments of their type parameter', () => {
    const tool = createJsonTool<{ a: number }, number>({
      name: 't',
      description: 'd',
      parameters: {},
      execute: ({ a }) => a,
    })
    expectTypeOf(tool).toEqualTypeOf<GovernedTool<{ a: number }, number>>()
    expectTypeOf(createThinkTool()).toEqualTypeOf<GovernedTool<{ thought: string }, string>>()
  })

  test('are called by name with text, and return text or blocks', () => {
    const set = {} as ToolSet
    expectTypeOf<ToolSet['call']>().parameter(1).toEqualTypeOf<string>()
    expectTypeOf(set.call('t', '{}')).resolves.toEqualTypeOf<string>()
    expectTypeOf(set.callContent('t', '{}')).resolves.toEqualTypeOf<NormalizedToolOutput>()
    expectTypeOf(set.get('t')).toEqualTypeOf<Tool | undefined>()
    expectTypeOf(set.values()).toEqualTypeOf<Tool[]>()
  })
})

describe('envelopes', () => {
  test('narrow to data or to a text, never both', () => {
    const envelope = {} as Envelope<number>
    if (isOutputEnvelope(envelope)) expectTypeOf(envelope).toEqualTypeOf<OutputEnvelope<number>>()
    else expectTypeOf(envelope).toEqualTypeOf<ErrorEnvelope>()
    // @ts-expect-error an error has no data
    envelope.data
    expectTypeOf(toToolResult('t', envelope)).toEqualTypeOf<ToolResult<number>>()
  })
})

describe('approval', () => {
  test('policies see the arguments of their tool', () => {
    expectTypeOf<ToolApprovalPolicy<{ a: 1 }>['when']>()
      .parameter(0)
      .toEqualTypeOf<ToolApprovalContext<{ a: 1 }>>()
  })
})

describe('requirements', () => {
  test('have the shape of the contract', () => {
    const all: RequirementSet = {
      fs: { read: ['{workspace}/**'], write: [] },
      net: { hosts: ['*.example.com'] },
      shell: [{ cmd: 'git', args: ['log', { prefix: '--since=' }, { wildcard: true }] }],
      capabilities: ['secrets.has'],
    }
    expectTypeOf(all).toExtend<RequirementSet>()
    // @ts-expect-error a wildcard is either there or not
    const wrong: RequirementSet = { shell: [{ cmd: 'git', args: [{ wildcard: false }] }] }
    expectTypeOf(wrong).not.toBeAny()
  })
})

describe('other types', () => {
  test('deprecated names equal the new ones', () => {
    expectTypeOf<ToolMiddleware>().toEqualTypeOf<AgentMiddleware>()
  })

  test('an index that can be updated is a dynamic tool index', () => {
    expectTypeOf<UpdatableToolIndex>().toExtend<DynamicToolIndex>()
  })
})
