import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RequirementSet } from '../tool/requirement.js'
import type { Subject } from '../tool/subject.js'
import { expandCall } from './call.js'
import {
  checkSubjects,
  createGrant,
  type Grant,
  grantForTool,
  grantsCapability,
  grantsCommand,
  grantsHost,
  grantsPath,
  intersectGrants,
  limitGrant,
} from './grant.js'
import type { Scope } from './scope.js'

const scope: Scope = { variables: { workspace: ['/w'], scratch: ['/tmp/s'] }, home: '/home/u' }

const refusal = (grant: Grant, ...subjects: Subject[]): string | undefined =>
  checkSubjects(grant, expandCall({ tool: 't', subjects }, scope).subjects)?.message

describe('a grant', () => {
  const manifest: RequirementSet = {
    fs: { read: ['{workspace}/**', '{scratch}/**'], write: ['src/**'] },
    net: { hosts: ['*.example.com'] },
    shell: [{ cmd: 'git', args: ['log', { prefix: '-' }] }, { cmd: 'ls' }],
    capabilities: ['secrets.has'],
  }
  const grant = createGrant({ scope, manifest })

  it.each<['read' | 'write', string, boolean]>([
    ['read', '/w', true],
    ['read', '/w/.env', true],
    ['read', '/tmp/s/out.txt', true],
    ['read', '/w/../w-evil/x', false],
    ['read', '/w-evil/x', false],
    ['read', '/etc/passwd', false],
    ['write', '/w/src/a.ts', true],
    ['write', '/w/src/../.env', false],
    ['write', '/w/a.ts', false],
  ])('%s of %s is %s', (fs, path, expected) => {
    expect(grantsPath(grant, fs, path)).toBe(expected)
  })

  it.each<[string, boolean]>([
    ['api.example.com', true],
    ['https://api.example.com:8443/x', true],
    ['example.com', false],
    ['api.example.com.evil.org', false],
    ['user@api.example.com', false],
  ])('reaching %s is %s', (host, expected) => {
    expect(grantsHost(grant, host)).toBe(expected)
  })

  it.each<[string[], boolean]>([
    [['git', 'log', '-5'], true],
    [['git', 'log'], false],
    [['git', 'push'], false],
    [['ls'], true],
    [['ls', '-la', '/'], true],
    [['./ls'], false],
    [[], false],
  ])('running %j is %s', (argv, expected) => {
    expect(grantsCommand(grant, argv)).toBe(expected)
  })

  it('supports capabilities by name, and the four built-in ones by their lists', () => {
    expect(grantsCapability(grant, 'secrets.has')).toBe(true)
    expect(grantsCapability(grant, 'secrets.read')).toBe(false)
    expect(grantsCapability(grant, 'fs.write')).toBe(true)
    expect(grantsCapability(createGrant({ scope }), 'fs.write')).toBe(false)
  })
})

describe('creating a grant', () => {
  it('is the union of manifest and tools: adding a tool extends it', () => {
    const grant = createGrant({
      scope,
      manifest: { fs: { read: ['docs/**'] } },
      tools: [{ fs: { read: ['src/**'] } }, { net: { hosts: ['a.com'] } }],
    })
    expect(grantsPath(grant, 'read', '/w/docs/x') && grantsPath(grant, 'read', '/w/src/x')).toBe(true)
    expect(grantsHost(grant, 'a.com')).toBe(true)
  })

  it('has no limit without a ceiling, and is limited by one', () => {
    const tools: RequirementSet[] = [{ fs: { read: ['/**'] }, net: { hosts: ['*'] } }]
    expect(grantsPath(createGrant({ scope, tools }), 'read', '/etc/hosts')).toBe(true)
    const cut = createGrant({ scope, tools, ceiling: { fs: { read: ['{workspace}/**'] } } })
    expect(grantsPath(cut, 'read', '/etc/hosts')).toBe(false)
    expect(grantsPath(cut, 'read', '/w/a')).toBe(true)
    expect(grantsHost(cut, 'a.com')).toBe(false)
  })

  it('grants nothing through an empty list (SEC-046)', () => {
    const tools: RequirementSet[] = [{ net: { hosts: ['*'] } }]
    expect(grantsHost(createGrant({ scope, tools, ceiling: { net: { hosts: [] } } }), 'a.com')).toBe(false)
    expect(grantsHost(createGrant({ scope, tools: [{ net: { hosts: [] } }] }), 'a.com')).toBe(false)
    const empty = createGrant({ scope: { variables: {} }, manifest: { fs: { read: ['{workspace}/**'] } } })
    expect(grantsPath(empty, 'read', '/w/a')).toBe(false)
  })

  it('does not give one tool the permissions of another', () => {
    const bash: RequirementSet = { shell: [{ cmd: '*' }] }
    const agent = createGrant({ scope, tools: [bash, { net: { hosts: ['*'] } }] })
    expect(grantsHost(agent, 'a.com')).toBe(true)
    expect(grantsHost(grantForTool(agent, 'bash', bash, scope), 'a.com')).toBe(false)
  })

  it('never grants a child more than its parent', () => {
    const parent = createGrant({ scope, manifest: { fs: { read: ['src/**'] } } })
    const child = createGrant({ scope, manifest: { fs: { read: ['**'], write: ['**'] } }, parent })
    const grandchild = createGrant({ scope, manifest: { fs: { read: ['/**'] } }, parent: child })
    expect(grantsPath(grandchild, 'read', '/w/src/a')).toBe(true)
    expect(grantsPath(grandchild, 'read', '/w/a')).toBe(false)
    expect(grantsPath(child, 'write', '/w/src/a')).toBe(false)
  })

  it('throws for an unknown variable or an invalid pattern (SEC-047)', () => {
    expect(() => createGrant({ scope, manifest: { fs: { read: ['{worksapce}/**'] } } })).toThrow('workspace')
    expect(() => createGrant({ scope, ceiling: { net: { hosts: ['a*b.com'] } } })).toThrow('star')
  })
})

describe('checkSubjects', () => {
  const grant = createGrant({
    scope,
    manifest: { fs: { read: ['**'] } },
    tools: [{ shell: [{ cmd: '*' }], fs: { read: ['**'], write: ['src/**'] } }],
    ceiling: { fs: { read: ['**'], write: ['**'] }, shell: [{ cmd: 'git' }, { cmd: 'echo' }, { cmd: 'cd' }] },
  })

  it('reports what was requested, what is granted and what would change it', () => {
    expect(refusal(grant, { fs: 'write', path: 'a.txt' })).toBe(
      'Writing "/w/a.txt" is outside the grant: what the manifest and the tools declare grants only "src/**". ' +
        'To change that, extend `fs.write` in the `requires` of the manifest or of a tool.',
    )
    expect(refusal(grant, { net: 'a.com' })).toBe(
      'Reaching "a.com" is outside the grant: what the manifest and the tools declare grants none. ' +
        'To change that, extend `net.hosts` in the `requires` of the manifest or of a tool.',
    )
    expect(refusal(grant, { shell: { text: 'npm i' } })).toBe(
      'Running "npm i" is outside the grant: the ceiling grants only "git", "echo", "cd". ' +
        'To change that, extend `shell` in the session option `ceiling`.',
    )
    expect(refusal(grant, { capability: 'x.y' })).toContain('The capability "x.y" is outside the grant')
  })

  it('returns undefined when everything is inside', () => {
    expect(refusal(grant, { fs: 'read', path: 'a.txt' }, { shell: { argv: ['git', 'log'] } })).toBeUndefined()
    expect(refusal(grant)).toBeUndefined()
  })

  it('checks every command of a text, and limits the files it names to the ceiling', () => {
    expect(refusal(grant, { shell: { text: 'git log; rm x' } })).toContain('Running "rm x"')
    expect(refusal(grant, { shell: { text: 'git log > /etc/x' } })).toContain('Writing "/etc/x"')
    // What the tools declare together does not limit the files of a command: rules and sandbox do.
    expect(refusal(grant, { shell: { text: 'cd src/x && echo x > ../../y' } })).toBeUndefined()
    expect(refusal(grant, { shell: { text: 'cd src/x && echo x > ../../../y' } })).toContain('Writing "/y"')
    expect(refusal(grant, { shell: { text: '$X log' } })).toContain('Running "$X log"')
  })

  it('leaves the files of a command to rules and sandbox if a declaration omits files, but not if a limit does', () => {
    const silent = createGrant({ scope, tools: [{ shell: [{ cmd: '*' }] }] })
    const write: Subject = { shell: { text: 'echo x > /w/y' } }
    expect(refusal(silent, write)).toBeUndefined()
    const limited = limitGrant(silent, { shell: [{ cmd: '*' }], fs: { read: ['/**'] } }, scope, {
      name: 'the mode',
      option: '`mode`',
    })
    expect(refusal(limited, write)).toContain('Writing "/w/y" is outside the grant: the mode grants none')
  })
})

describe('inheritance over random trees', () => {
  const path = fc.constantFrom('**', '/**', 'src/**', 'src/*', '*.md', '/etc/**', '**/.env', '{scratch}/**')
  const paths = fc.array(path, { maxLength: 3 })
  const sets: fc.Arbitrary<RequirementSet> = fc.record(
    {
      fs: fc.record({ read: paths, write: paths }, { requiredKeys: [] }),
      net: fc.record({ hosts: fc.array(fc.constantFrom('*', 'a.com', '*.a.com'), { maxLength: 2 }) }),
      shell: fc.array(fc.record({ cmd: fc.constantFrom('*', 'git', 'ls') }), { maxLength: 2 }),
      capabilities: fc.array(fc.constantFrom('x', 'y', '*'), { maxLength: 2 }),
    },
    { requiredKeys: [] },
  )
  const probes = [
    ...['/w/src/a', '/w/src/a/b', '/w/x.md', '/w/.env', '/etc/hosts', '/tmp/s/o', '/w'].flatMap((one) => [
      (grant: Grant) => grantsPath(grant, 'read', one),
      (grant: Grant) => grantsPath(grant, 'write', one),
    ]),
    ...['a.com', 'b.a.com', 'c.org'].map((one) => (grant: Grant) => grantsHost(grant, one)),
    ...['git', 'ls', 'rm'].map((one) => (grant: Grant) => grantsCommand(grant, [one, 'x'])),
    ...['x', 'y', 'z'].map((one) => (grant: Grant) => grantsCapability(grant, one)),
  ]

  it('never exceeds any ancestor, and equals what declaration, ceiling and parent allow together', () => {
    const generations = fc.array(
      fc.record({ manifest: sets, ceiling: fc.option(sets, { nil: undefined }) }),
      {
        minLength: 1,
        maxLength: 5,
      },
    )
    fc.assert(
      fc.property(generations, (chain) => {
        let parent: Grant | undefined
        for (const { manifest, ceiling } of chain) {
          const limits = ceiling === undefined ? {} : { ceiling }
          const own = createGrant({ scope, manifest, ...limits })
          const child: Grant = createGrant({ scope, manifest, ...limits, ...(parent && { parent }) })
          for (const granted of probes) {
            expect(granted(child)).toBe(granted(own) && (parent === undefined || granted(parent)))
          }
          parent = child
        }
      }),
    )
  })

  it('intersects exactly, in any order', () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const one = createGrant({ scope, manifest: a })
        const other = createGrant({ scope, manifest: b })
        for (const granted of probes) {
          expect(granted(intersectGrants(one, other))).toBe(granted(one) && granted(other))
          expect(granted(intersectGrants(other, one, one))).toBe(granted(one) && granted(other))
        }
      }),
    )
  })
})
