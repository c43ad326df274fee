import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createJsonTool } from './create-json-tool.js'
import { createTool } from './create-tool.js'
import { governTool } from './govern.js'
import type { RequirementSet } from './requirement.js'
import { UnknownVariableError } from './requirement-check.js'

const make = (requires: unknown) =>
  createTool({
    name: 'notes',
    description: 'd',
    input: z.object({}),
    requires: requires as RequirementSet,
    execute: () => 1,
  })

describe('the requirements of a tool', () => {
  it.each([
    [{ fs: { read: ['{workspce}/**'] } }, '{workspace}'],
    [{ fs: { write: ['{user_data}/x'] } }, '{user-data}'],
    [{ net: { hosts: ['{adhoc}.example.com'] } }, '{ad-hoc}'],
    [{ fs: { read: ['src/**', '{scrach}/**'] } }, '{scratch}'],
  ])(
    'with an unknown variable (%j) throw when the tool is created and name the nearest',
    (requires, nearest) => {
      expect(() => make(requires)).toThrow(UnknownVariableError)
      expect(() => make(requires)).toThrow(nearest)
      expect(() => make(requires)).toThrow('the tool "notes"')
      const { name, description, parameters, execute } = { ...make({}), execute: () => 1 }
      expect(() => createJsonTool({ name, description, parameters, requires, execute })).toThrow(nearest)
    },
  )

  it.each([
    [{ fs: { raed: ['src/**'] } }, /"fs.raed" does not exist; did you mean "read"/],
    [{ network: { hosts: [] } }, /"network" does not exist/],
    [{ fs: { read: '{workspace}/**' } }, /fs.read must be a list of strings/],
    [{ fs: ['{workspace}/**'] }, /fs must be an object/],
    [{ shell: ['git'] }, /shell must be a list of commands/],
    [{ shell: [{ cmd: 'git', args: [{ any: true }] }] }, /shell must be a list of commands/],
    [{ capabilities: 'secrets.has' }, /capabilities must be a list of strings/],
    ['{workspace}', /must be an object/],
  ])('of the wrong shape (%j) throw when the tool is created', (requires, words) => {
    expect(() => make(requires)).toThrow(words)
  })

  it('of a hand-written tool are checked when it is governed', async () => {
    const byHand = {
      name: 'old',
      requires: { fs: { read: ['{workspaces}/**'] } },
      definition: () => ({ name: 'old', description: 'd', parameters: {} }),
      call: () => 1,
    }
    await expect(governTool(byHand)).rejects.toThrow('{workspace}')
  })

  it('can omit any part and contain every form of a command', () => {
    const requires = {
      fs: { read: ['{workspace}/**'], write: undefined },
      shell: [{ cmd: 'git', args: ['log', { prefix: '--since=' }, { wildcard: true }] }, { cmd: '*' }],
      capabilities: ['secrets.has'],
    }
    expect(make(requires).requires).toMatchObject({ capabilities: ['secrets.has'] })
  })
})
