import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import type { Call } from '../authority/call.js'
import { decide } from '../authority/decide.js'
import type { PermissionPolicy } from '../authority/policy.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import { permitFor } from './call-permit.js'
import { createSessionAuthority } from './session-authority.js'

const root = '/ship'
const search = (name: string, read: readonly string[]) =>
  createJsonTool({
    name,
    description: name,
    requires: { fs: { read: [...read] } },
    parameters: { type: 'object' },
    execute: () => null,
  })

function permitting(policy: PermissionPolicy, name = 'grep', read: readonly string[] = ['{workspace}/**']) {
  const tool = search(name, read)
  const scope = { variables: { workspace: [root] } }
  const authority = createSessionAuthority({ scope: () => scope, tools: () => [tool], policy }).for(tool)
  const call: Call = { tool: name, args: {}, subjects: [{ fs: 'read', path: '.' }] }
  return {
    permit: permitFor(call, authority, false),
    slowly: (path: string) =>
      decide({ ...call, subjects: [{ fs: 'read', path }] }, authority).verdict.action === 'allow',
  }
}

describe('the permitted results of a search', () => {
  it.each<[string, PermissionPolicy, string, readonly string[]]>([
    ['nothing is kept from it', {}, 'grep', ['{workspace}/**']],
    ['a file is denied', { deny: ['read(**/.env*)'] }, 'grep', ['{workspace}/**']],
    ['a file is denied to this tool alone', { deny: ['mine(secret/**)'] }, 'mine', ['{workspace}/**']],
    ['a directory is asked about', { ask: ['fs.read(src/**)'] }, 'grep', ['{workspace}/**']],
    ['it was granted a part', {}, 'grep', ['{workspace}/src/**']],
    ['it was granted one level', {}, 'grep', ['{workspace}/*']],
    ['a server has a rule', { deny: ['mcp__srv__*(secret/**)'] }, 'mcp__srv__find', ['{workspace}/**']],
  ])('are the same as when each path is checked alone, if %s', (_, policy, name, read) => {
    const { permit, slowly } = permitting(policy, name, read)
    const part = fc.constantFrom('src', 'secret', '.env', '.env.local', 'a', 'k3f9q', '.git', 'x y')
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
        const path = [root, ...parts].join('/')
        expect(permit.path('read', path) === undefined).toBe(slowly(path))
      }),
      { numRuns: propertyRuns(300) },
    )
    expect(permit.path('read', '/ship-of-others/a')).toBeDefined()
    expect(permit.path('read', '/etc/passwd')).toBeDefined()
  })
})
