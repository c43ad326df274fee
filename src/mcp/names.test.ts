import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.js'
import { propertyRuns } from '../../test/support/property-runs.js'
import { mcpOfToolId } from '../authority/permission.js'
import { serverLabel, toolId, toolLabel } from './names.js'

describe('names of servers and tools', () => {
  it.each([
    ['github', 'github'],
    ['my server', 'my_server'],
    ['a__b', 'a_b'],
    ['__a__', 'a'],
    ['⚓', undefined],
    ['', undefined],
    ['x'.repeat(30), expect.stringMatching(/^x{17}_[0-9a-f]{6}$/)],
  ])('%j is called %j', (name, label) => {
    expect(serverLabel(name)).toEqual(label)
  })

  it('are accepted by every provider, and can be split again into server and tool', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter, maxLength: 80 }),
        fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1_200 }),
        (server, tool) => {
          const label = serverLabel(server)
          if (label === undefined) return
          const id = toolId(label, toolLabel(tool, label))
          expect(id).toMatch(/^mcp__[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*__[A-Za-z0-9_-]+$/)
          expect(id.length).toBeLessThanOrEqual(64)
          expect(mcpOfToolId(id)).toEqual({ server: label, tool: toolLabel(tool, label) })
        },
      ),
    )
  })

  it('of different tools never become the same', () => {
    const nameLike = fc.string({
      unit: fc.constantFrom('a', 'b', '_', '-', '.', ' ', '/', 'é'),
      minLength: 1,
      maxLength: 12,
    })
    fc.assert(
      fc.property(nameLike, nameLike, (one, other) => {
        if (one !== other) expect(toolLabel(one, 'x')).not.toBe(toolLabel(other, 'x'))
      }),
      { numRuns: propertyRuns(2_000) },
    )
  })
})
