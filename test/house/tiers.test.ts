import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  ecosystem,
  long,
  matches,
  nextAiSdk,
  slow,
  spreadWaiting,
  tierOf,
  waiting,
} from '../../scripts/tiers.mjs'
import { root } from './run.js'

const files = ['src', 'test'].flatMap((folder) =>
  readdirSync(join(root, folder), { encoding: 'utf8', recursive: true }).map((name) =>
    `${folder}/${name}`.replaceAll('\\', '/'),
  ),
)

describe('the tiers of the tests', () => {
  it.each([...slow, ...long, ...waiting, ecosystem, nextAiSdk])('name files that exist: %s', (pattern) => {
    expect(files.some((file) => matches(pattern, file))).toBe(true)
  })

  it('put each test file in one tier', () => {
    expect(tierOf('src/tool/json.test.ts', 'together')).toBe('unit')
    expect(tierOf('test/contract/agent.test.ts', 'together')).toBe('contract')
    expect(tierOf('test/mcp/faults.test.ts', 'together')).toBe('slow')
    expect(tierOf('test/ecosystem/acp.test.ts', 'together')).toBe('ecosystem')
    expect(tierOf('src/tool/json.test.ts', 'slow')).toBe('slow')
  })

  it('spread the files that wait over the time that the others take', () => {
    const sizes: Record<string, number> = {
      'test/mcp/faults.test.ts': 5,
      'test/mcp/orphans.test.ts': 5,
      'test/postgres/faults.test.ts': 5,
      'test/faults/large.test.ts': 60,
      'test/faults/middle.test.ts': 30,
      'test/faults/small.test.ts': 15,
      'test/faults/smallest.test.ts': 15,
    }
    const spread = spreadWaiting(
      Object.keys(sizes),
      (file) => file,
      (file) => sizes[file] ?? 0,
    )
    expect(spread).toEqual([
      'test/mcp/faults.test.ts',
      'test/faults/large.test.ts',
      'test/mcp/orphans.test.ts',
      'test/faults/middle.test.ts',
      'test/postgres/faults.test.ts',
      'test/faults/small.test.ts',
      'test/faults/smallest.test.ts',
    ])
    expect(spreadWaiting([], String, Number)).toEqual([])
  })
})
