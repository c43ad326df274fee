import { existsSync } from 'node:fs'
import { link, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PermissionPolicy } from '../../../src/authority/policy.js'
import type { AskRequest } from '../../../src/loop/ask.js'
import type { SessionOptions } from '../../../src/session/options.js'
import { scriptedModel } from '../../../src/testing/scripted-model.js'
import type { JsonValue } from '../../../src/tool/json.js'
import { calls, type Opened, openSession, toolResults } from '../../contract/open-session.js'

const limit = 120_000

/** Rules that cover every command here, and no file. */
const commands: PermissionPolicy = {
  allow: [
    'cat',
    'ls',
    'head',
    'tee',
    'cp',
    'mv',
    'touch',
    'echo',
    'cd',
    'rm',
    'ln',
    'mkdir',
    'truncate',
    'dd',
    'sed',
  ]
    .map((name) => `bash(${name} *)`)
    .concat('bash(ls)'),
}

/**
 * A workspace with links: `out` leads to a directory outside and `file` to a file in it, `chain` to `file`, `gone` to a
 * file outside that does not exist, `in` to a file inside, `dir` to a directory inside.
 */
async function linked(
  named: string | readonly string[],
  options: SessionOptions = {},
): Promise<Opened & { outside: string }> {
  const answer = calls(...[named].flat().map((command) => ['bash', { command }] as [string, JsonValue]))
  const opened = await openSession(
    (_request, n) => (n % 2 === 0 ? answer : 'done'),
    { permissionPolicy: commands, ...options },
    {
      'real/a.txt': 'inside\n',
      'empty/.keep': '',
    },
  )
  const outside = join(dirname(opened.root), 'outside')
  await mkdir(join(outside, 'sub'), { recursive: true })
  await writeFile(join(outside, 'secret'), 'outside-text\n')
  await writeFile(join(outside, 'hard'), 'outside-text\n')
  const at = (name: string): string => join(opened.root, name)
  await symlink(outside, at('out'))
  await symlink(join(outside, 'sub'), at('sub'))
  await symlink(join(outside, 'secret'), at('file'))
  await symlink('file', at('chain'))
  await symlink(join(outside, 'new'), at('gone'))
  await symlink('../outside/secret', at('relative'))
  await symlink('real/a.txt', at('in'))
  await symlink('real', at('dir'))
  await symlink('loop', at('loop'))
  await link(join(outside, 'hard'), at('hard'))
  await symlink(join(outside, 'secret'), at('empty/a.txt'))
  return { ...opened, outside }
}

/** What the model read, whether anything outside has changed, and what was asked. */
async function attempt(command: string, options: SessionOptions = {}) {
  const { texts, ...opened } = await attemptAll([command], options)
  return { ...opened, text: texts[0] ?? '' }
}

/** The same for several commands in one answer: a session takes longer than a decision. */
async function attemptAll(named: readonly string[], options: SessionOptions = {}) {
  const opened = await linked(named, options)
  const { session, server, outside } = opened
  await session.send('go')
  const contents = await Promise.all(['secret', 'hard'].map((name) => readFile(join(outside, name), 'utf8')))
  const changed =
    contents.some((text) => text !== 'outside-text\n') ||
    ['new', 'x', 'a.txt', 'sub/x'].some((name) => existsSync(join(outside, name)))
  const texts = toolResults(server, 1)
  expect(texts).toHaveLength(named.length)
  return { ...opened, texts, changed }
}

function commandOf({ args }: AskRequest): unknown {
  return (args as { readonly command?: unknown }).command
}

const reads = [
  'cat file',
  'cat chain',
  'cat relative',
  'cat out/secret',
  'cat out/sub/../secret',
  'cat sub/../secret',
  'cat ./file',
  'head -n 1 file',
  'cat < file',
  'cat real/a.txt file',
  'cd out && cat secret',
  'cd sub && cat ../secret',
  'cd real && cat ../file',
  'cp file copy.txt',
  'ls out',
  'ls out/',
]
const writes = [
  'echo x > file',
  'echo x >> file',
  'echo x > chain',
  'echo x > gone',
  'echo x > out/x',
  'echo x > sub/../x',
  'cd out && echo x > x',
  'cd sub && echo x > ../x',
  'echo x | tee file',
  'touch gone',
  'touch out/x',
  'cp real/a.txt file',
  'cp real/a.txt out',
  'cp real/a.txt empty',
  'cp real/a.txt empty/',
  'cp -t empty real/a.txt',
  'cp --target-directory=empty real/a.txt',
  'mv real/a.txt out/x',
  'truncate -s 0 file',
  'dd if=real/a.txt of=file',
  'mkdir out/x',
  'cat real/a.txt > file',
  'sed -i s/o/x/ out/secret',
]
const hard = [
  'echo x > hard',
  'echo x >> ./hard',
  'cp real/a.txt hard',
  'truncate -s 0 hard',
  'dd if=real/a.txt of=hard',
]

describe('a link out of the workspace that a command names', { timeout: limit }, () => {
  it.each([
    ['reads', reads],
    ['writes', writes],
  ])('is refused when no user can be asked, in every command that %s', async (_, named) => {
    const { texts, changed } = await attemptAll(named)
    for (const [at, command] of named.entries()) {
      expect(texts[at], command).toMatch(/^Refused|Error: Refused/)
      expect(texts[at], command).toContain('/outside')
      expect(texts[at], command).not.toContain('outside-text')
    }
    expect(changed).toBe(false)
  })

  it('is asked about with its target', async () => {
    const named = ['echo x > file', 'cat file', 'cd out && cat secret']
    const reasons = new Map<unknown, string>()
    const { outside } = await attemptAll(named, {
      onAsk: (request) => {
        reasons.set(commandOf(request), request.reasons.join())
        return { decision: 'reject' }
      },
    })
    for (const command of named) expect(reasons.get(command), command).toContain(outside)
  })

  it.each<[string, SessionOptions]>([
    ['accept-edits', { mode: 'accept-edits' }],
    [
      'with every write in the workspace allowed',
      { permissionPolicy: { allow: [...(commands.allow ?? []), 'fs.write(**)', 'fs.read(**)'] } },
    ],
  ])('is not covered by a permission for the workspace: %s', async (_, options) => {
    const named = ['echo x > file', 'echo x > gone', 'echo x > hard', 'cat out/secret']
    expect(await attemptAll(named, options)).toMatchObject({
      changed: false,
      texts: named.map(() => expect.stringContaining('Refused')),
    })
  })

  it('is refused with a sandbox as well', async () => {
    const named = ['echo x > file', 'cat file', 'echo x > gone', 'cat sub/../secret']
    expect(await attemptAll(named, { sandbox: 'auto' })).toMatchObject({
      changed: false,
      texts: named.map(() => expect.stringContaining('Refused')),
    })
  })

  it('is denied when its target is denied', async () => {
    const policy = { allow: ['bash(*)'], deny: ['read(real/**)'] }
    const named = ['cat in', 'cat dir/a.txt', 'cd dir && cat a.txt']
    const { texts } = await attemptAll(named, { permissionPolicy: policy })
    expect(texts).toEqual(named.map(() => expect.stringContaining('is denied by the rule read(real/**)')))
  })

  it('is allowed with the rules that the refusal names', async () => {
    const named = ['cat file', 'cd sub && cat ../secret', 'echo x > out/x']
    const { texts, agent, root, server, outside } = await attemptAll(named)
    const rules = texts.map((text) =>
      [...text.matchAll(/"(fs\.(?:read|write)\([^"]+\))"/g)].map(([, rule]) => rule ?? ''),
    )
    for (const each of rules) expect(each.length).toBeGreaterThan(0)
    const again = agent.session(root, {
      sandbox: 'off',
      permissionPolicy: { allow: [...(commands.allow ?? []), ...rules.flat()] },
    })
    await again.send('go')
    expect(toolResults(server, 3)).toEqual(named.map(() => expect.not.stringContaining('Refused')))
    expect(await readFile(join(outside, 'x'), 'utf8')).toBe('x\n')
  })

  it('is refused when it changes while the user is asked', async () => {
    const { session, server, root } = await linked('cat in', {
      permissionPolicy: { ask: ['bash'] },
      onAsk: async () => {
        const { rename } = await import('node:fs/promises')
        await rename(join(root, 'file'), join(root, 'in'))
        return { decision: 'once' }
      },
    })
    await session.send('go')
    const [text] = toolResults(server, 1)
    expect(text).toContain('the call was not approved for it')
    expect(text).not.toContain('outside-text')
  })

  it('is refused when another call of the same answer creates it', async () => {
    const script = `require('node:fs').symlinkSync('../outside/secret', 'made')`
    const { root, session, agent } = await linked('true')
    await session.close()
    await writeFile(join(root, 'make.js'), script)
    const again = agent.session(root, {
      sandbox: 'off',
      permissionPolicy: { allow: ['bash(node make.js)', 'bash(cat *)', 'bash(tee *)'] },
      model: scriptedModel([
        {
          toolCalls: ['node make.js', 'cat made', 'cat real/a.txt | tee made'].map((command) => ({
            name: 'bash',
            args: { command },
          })),
        },
        'done',
      ]),
    })
    await again.send('go')
    const text = JSON.stringify(again.history())
    expect(text).toContain('and the call was not approved for it')
    expect(text).not.toContain('outside-text')
    expect(await readFile(join(dirname(root), 'outside/secret'), 'utf8')).toBe('outside-text\n')
  })

  it('cannot be judged when it is a loop, and the command does not run', async () => {
    expect((await attempt('cat loop')).text).toContain('where its links lead cannot be determined')
  })
})

describe('a link inside the workspace that a command names', { timeout: limit }, () => {
  it('works like its target', async () => {
    const shown = {
      'cat in': 'inside',
      'cat dir/a.txt': 'inside',
      'cd dir && cat a.txt': 'inside',
      'rm file && ls': 'real',
    }
    const { texts, changed } = await attemptAll(Object.keys(shown))
    expect(texts).toEqual(Object.values(shown).map((text) => expect.stringContaining(text)))
    expect(changed).toBe(false)
  })

  it.each([
    ['echo x > in', 'real/a.txt'],
    ['echo x > dir/a.txt', 'real/a.txt'],
    ['echo x > dir/b.txt', 'real/b.txt'],
  ])('needs the rule of its target: %s', async (command, file) => {
    expect((await attempt(command)).text).toContain(`"fs.write(${file})"`)
    const allowed = { allow: [...(commands.allow ?? []), 'fs.write(real/**)'] }
    const { text, root } = await attempt(command, { permissionPolicy: allowed })
    expect(text).not.toContain('Refused')
    expect(await readFile(join(root, file), 'utf8')).toBe('x\n')
  })
})

describe('a file with another hard link that a command writes to', { timeout: limit }, () => {
  it('is not written without approval, by any command', async () => {
    const allowed = { allow: [...(commands.allow ?? []), 'fs.write(**)'] }
    const { texts, changed } = await attemptAll(hard, { permissionPolicy: allowed })
    expect(texts).toEqual(hard.map(() => expect.stringContaining('2 names (hard links)')))
    expect(changed).toBe(false)
  })

  it('is replaced under its own name by the write tool, removed by rm, and written after approval', async () => {
    const { session, server, outside, root } = await linked('true')
    await session.close()
    const opened = await openSession([calls(['write', { file_path: 'hard', content: 'mine' }]), 'done'])
    const other = opened.agent.session(root, { sandbox: 'off', permissionPolicy: { allow: ['write'] } })
    await other.send('go')
    expect(server.requests).toHaveLength(0)
    expect(await readFile(join(root, 'hard'), 'utf8')).toBe('mine')
    expect(await readFile(join(outside, 'hard'), 'utf8')).toBe('outside-text\n')
    expect((await attempt('rm hard && ls')).text).not.toContain('Refused')
    expect(await attempt('echo x > hard', { onAsk: () => ({ decision: 'once' }) })).toMatchObject({
      changed: true,
    })
  })
})

describe('a path outside the workspace that a command names', { timeout: limit }, () => {
  const outsiders = [
    'cat /etc/os-release',
    'ls /usr/bin',
    'head -c 5 /dev/zero',
    'cat /proc/version',
    'ls ..',
    'echo x > /tmp/capstan-never',
  ]

  it('is refused with the rule that would allow it', async () => {
    const { texts } = await attemptAll(outsiders)
    for (const [at, command] of outsiders.entries()) {
      expect(texts[at], command).toContain('Refused: no rule covers')
      expect(texts[at], command).toMatch(
        /To allow it, add .*"fs\.(read|write)\(.+\)" to the allow list of the policy/,
      )
      expect(texts[at], command).not.toContain('outside the grant')
    }
    expect(existsSync('/tmp/capstan-never')).toBe(false)
  })

  it('is allowed with that rule, and when the user approves', async () => {
    const rule = { allow: [...(commands.allow ?? []), 'fs.read(/etc/hostname)', 'fs.read(/etc/host.conf)'] }
    expect((await attempt('head -c 20 /etc/host.conf', { permissionPolicy: rule })).text).not.toContain(
      'Refused',
    )
    const reasons: string[] = []
    const { text } = await attempt('head -c 5 /etc/host.conf', {
      onAsk: (request) => {
        reasons.push(...request.reasons)
        return { decision: 'once' }
      },
    })
    expect(reasons.join()).toContain('reading "/etc/host.conf"')
    expect(text).not.toContain('Refused')
  })

  it('is denied by a deny, whatever the user answers', async () => {
    const { text } = await attempt('cat /etc/host.conf', {
      permissionPolicy: { allow: ['bash(*)'], deny: ['read(/etc/**)'] },
      onAsk: () => ({ decision: 'once' }),
    })
    expect(text).toContain('is denied by the rule read(/etc/**)')
  })

  it('is allowed in a direct call of the host, and stays refused when the ceiling does not grant it', async () => {
    const { session } = await linked('true')
    expect(await session.bash('head -c 5 /dev/zero | wc -c')).toContain('5')
    expect(await session.bash('cat file')).toBe('outside-text\n')
    expect(await session.bash('cat /etc/host.conf')).not.toContain('Refused')
    const limited = await openSession([], {
      ceiling: { fs: { read: ['{workspace}/**'] }, shell: [{ cmd: '*' }] },
    })
    await expect(limited.session.bash('cat /etc/host.conf')).rejects.toThrow('the ceiling grants only')
  })

  it('stays a capability refusal for the file tools', async () => {
    const { session, server } = await openSession(
      [
        calls(
          ['read', { file_path: '/etc/host.conf' }],
          ['write', { file_path: '/tmp/capstan-never', content: 'x' }],
        ),
        'done',
      ],
      { permissionPolicy: { defaultDecision: 'allow' }, onAsk: () => ({ decision: 'once' }) },
    )
    await session.send('go')
    for (const text of toolResults(server, 1)) expect(text).toContain('outside the grant')
  })
})
