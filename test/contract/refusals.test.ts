import { beforeAll, describe, expect, it } from 'vitest'
import type { PermissionPolicy } from '../../src/authority/policy.js'
import type { SessionOptions } from '../../src/session/options.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import type { JsonValue } from '../../src/tool/json.js'
import { sharedDirectory } from '../support/temporary-directory.js'
import { calls, idleNpm, openSession, toolResults } from './open-session.js'

const limit = 120_000

const files = {
  'a.txt': 'one\n',
  'package.json': '{"name":"x","version":"1.0.0","scripts":{"build":"true"}}',
}
const notes = createJsonTool({
  name: 'notes',
  description: 'Takes notes.',
  parameters: {},
  execute: () => 'taken',
})

const programs = sharedDirectory()
let env: Readonly<Record<string, string>>
beforeAll(() => {
  env = idleNpm(programs)
})

async function resultOf(call: [string, JsonValue], options: SessionOptions): Promise<string> {
  const all = { tools: [notes], env, ...options }
  const { session, server } = await openSession([calls(call), 'done'], all, files)
  await session.send('go')
  return toolResults(server, 1)[0] ?? ''
}

/** The rules that a refusal names. */
function rulesIn(text: string): string[] {
  const [, list = ''] =
    /To allow it, add ((?:"(?:[^"\\]|\\.)+"(?:, )?)+) to the allow list of the policy/.exec(text) ?? []
  return (JSON.parse(`[${list}]`) as string[]).map(String)
}

const refused: [string, JsonValue, string[]][] = [
  ['write', { file_path: 'out/b.txt', content: 'x' }, ['write(out/b.txt)']],
  ['edit', { file_path: 'a.txt', old_string: 'one', new_string: 'two' }, ['edit(a.txt)']],
  ['bash', { command: 'npm run build' }, ['bash(npm run build)']],
  ['bash', { command: 'touch b.txt && echo done' }, ['bash(touch b.txt)', 'bash(echo done)']],
  ['bash', { command: 'echo x > out.txt' }, ['bash(echo x)', 'fs.write(out.txt)']],
  ['bash', { command: 'cat < a.txt > out.txt' }, ['bash(cat)', 'fs.write(out.txt)']],
  [
    'bash',
    { command: 'head -n 1 /etc/hostname' },
    ['bash(head -n 1 /etc/hostname)', 'fs.read(/etc/hostname)'],
  ],
  ['bash', { command: 'node build.js' }, ['bash(node build.js)']],
  ['bash', { command: "find . -name '*.txt'" }, ["bash(find . -name '*.txt')"]],
  ['notes', {}, ['notes']],
]

describe('a refusal when no user can be asked', { timeout: limit }, () => {
  it.each(refused)('names the rules that allow the call: %s %j', async (tool, args, expected) => {
    const text = await resultOf([tool, args], {})
    expect(rulesIn(text)).toEqual(expected)
    const allowed = await resultOf([tool, args], { permissionPolicy: { allow: rulesIn(text) } })
    expect(allowed).not.toContain('Refused')
  })

  it.each([
    ['read', { file_path: 'a.txt' }],
    ['grep', { pattern: 'one', path: 'a.txt' }],
    ['ls', {}],
    ['git', { command: 'status' }],
    ...refused,
  ] as [string, JsonValue][])(
    'names them as well for a call that is denied by default: %s %j',
    async (tool, args) => {
      const policy: PermissionPolicy = { defaultDecision: 'deny' }
      const text = await resultOf([tool, args], { permissionPolicy: policy })
      expect(text).toContain('Refused: no rule covers')
      expect(rulesIn(text).length).toBeGreaterThan(0)
      const allowed = await resultOf([tool, args], { permissionPolicy: { ...policy, allow: rulesIn(text) } })
      expect(allowed).not.toContain('Refused')
    },
  )

  it('says why when no rule can allow the call', async () => {
    const text = await resultOf(['bash', { command: 'echo $HOME' }], {})
    expect(text).toContain('No rule can allow this call: the command is not fully understood')
    expect(text).toContain('set `onAsk` so that a user can decide')
  })

  it('names no rule when a rule denies the call', async () => {
    const text = await resultOf(['bash', { command: 'touch x' }], {
      permissionPolicy: { deny: ['bash(touch *)'] },
    })
    expect(text).toContain('is denied by the rule bash(touch *)')
    expect(text).not.toContain('To allow it')
  })
})

describe('a rejection by the user', { timeout: limit }, () => {
  it.each([
    ['use the other directory', 'The user rejected this call: use the other directory'],
    ['  ', 'The user rejected this call.'],
    [undefined, 'The user rejected this call.'],
  ])('reaches the model with its reason: %j', async (message, expected) => {
    const text = await resultOf(['bash', { command: 'touch x' }], {
      onAsk: () => ({ decision: 'reject', ...(message !== undefined && { message }) }),
    })
    expect(text).toBe(`Error: ${expected}`)
  })

  it('is not reported for a time-out or a hook', async () => {
    const late = await resultOf(['bash', { command: 'touch x' }], {
      confirmationPolicy: { enabled: true, defaultTimeoutMs: 20 },
    })
    expect(late).toContain('was not confirmed within 20 ms')
    const hooked = await resultOf(['bash', { command: 'touch x' }], {
      onAsk: () => ({ decision: 'once' }),
      hooks: [
        {
          id: 'no',
          event: 'permission_request',
          handler: () => ({ action: 'block', reason: 'not at night' }),
        },
      ],
    })
    for (const text of [late, hooked]) expect(text).not.toContain('The user rejected')
  })
})
