import { describe, expect, it } from 'vitest'
import { frozenCopy } from '../tool/frozen-copy.js'
import type { RequirementSet } from '../tool/requirement.js'
import { createGrant, grantsPath } from './grant.js'
import type { Scope } from './scope.js'
import { sharedGrant, sharedToolGrant } from './shared-grant.js'

const at = (root: string): Scope => ({ variables: { workspace: [root] }, home: '/home/me' })
const reads = (...read: string[]): RequirementSet => ({ fs: { read } })

describe('a grant that sessions share', () => {
  it('is one object for equal requirements in the same workspace, and equals the result of createGrant', () => {
    const options = () => ({
      scope: at('/ship'),
      tools: [frozenCopy(reads('{workspace}/**')), reads('/etc/hosts')],
    })
    expect(sharedGrant(options())).toBe(sharedGrant(options()))
    expect(sharedGrant(options())).toEqual(createGrant(options()))
    const limited = { ...options(), manifest: reads('/a'), ceiling: reads('{workspace}/src/**') }
    expect(sharedGrant(limited)).toEqual(createGrant(limited))
  })

  it('is a different one for another workspace, other tools, another manifest or ceiling', () => {
    const tools = [reads('{workspace}/**')]
    const grants = [
      sharedGrant({ scope: at('/ship'), tools }),
      sharedGrant({ scope: at('/other'), tools }),
      sharedGrant({ scope: { ...at('/ship'), ignoreCase: true }, tools }),
      sharedGrant({ scope: at('/ship'), tools: [] }),
      sharedGrant({ scope: at('/ship'), tools: [...tools, reads('/etc/**')] }),
      sharedGrant({ scope: at('/ship'), tools, manifest: reads('/a') }),
      sharedGrant({ scope: at('/ship'), tools, ceiling: reads('/a') }),
      sharedGrant({ scope: at('/ship'), tools, ceiling: {} }),
    ]
    expect(new Set(grants).size).toBe(grants.length)
    expect(grantsPath(sharedGrant({ scope: at('/other'), tools }), 'read', '/ship/a')).toBe(false)
  })

  it('uses the current content of an object, and does not change when the object changes afterwards', () => {
    const read = ['{workspace}/**']
    const ceiling = { fs: { read } }
    const options = { scope: at('/ship'), tools: [reads('/**')], ceiling }
    const before = sharedGrant(options)
    expect(grantsPath(before, 'read', '/ship/a')).toBe(true)
    read[0] = '{workspace}/src/**'
    const after = sharedGrant(options)
    expect(grantsPath(after, 'read', '/ship/a')).toBe(false)
    expect(grantsPath(after, 'read', '/ship/src/a')).toBe(true)
    expect(grantsPath(before, 'read', '/ship/a')).toBe(true)
  })
})

describe('a grant for one tool', () => {
  it('is one object for the same tool in the same grant, and depends on the tool’s requirements', () => {
    const scope = at('/ship')
    const grant = sharedGrant({ scope, tools: [reads('/**')] })
    const requires = { fs: { read: ['{workspace}/**'] } }
    const own = sharedToolGrant(grant, 'look', requires, scope)
    expect(sharedToolGrant(grant, 'look', reads('{workspace}/**'), scope)).toBe(own)
    expect(sharedToolGrant(grant, 'peek', requires, scope)).not.toBe(own)
    requires.fs.read[0] = '{workspace}/src/**'
    expect(grantsPath(sharedToolGrant(grant, 'look', requires, scope), 'read', '/ship/a')).toBe(false)
    expect(grantsPath(own, 'read', '/ship/a')).toBe(true)
    const other = sharedGrant({ scope: at('/other'), tools: [reads('/**')] })
    expect(grantsPath(sharedToolGrant(other, 'look', requires, at('/other')), 'read', '/ship/src/a')).toBe(
      false,
    )
  })
})
