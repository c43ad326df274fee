import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withStableShapes } from '../../scripts/stable-shapes.mjs'
import { root, runNode } from './run.js'
import { listFiles } from './source-tree.js'

describe('objects that start with a copy of another', () => {
  const script = `
    const made = []
    for (let i = 0; i < 100; i++) {
      const one = { id: i, name: 'a' + i }
      made.push({ ...one, more: true, ...(i > 200 && { last: 1 }) })
    }`
  // Not JavaScript that a parser reads.
  const look =
    'console.log(JSON.stringify(made[99]), made.slice(10).every((one) => %HaveSameMap(one, made[99])))'

  it('share one hidden class and keep their fields in order', async () => {
    const rewritten = withStableShapes('script.cjs', script)
    const { code, stdout } = await runNode(['--allow-natives-syntax', '-e', `${rewritten}\n${look}`])
    expect(code).toBe(0)
    expect(stdout.trim()).toBe('{"id":99,"name":"a99","more":true} true')
  })

  it('are rewritten in the built scripts that every run loads, and nothing else is', () => {
    const scripts = listFiles('dist/chunks', /\.c?js$/).filter((file) => /\/(?:on-|tool-)/.test(file))
    expect(scripts.length).toBeGreaterThan(3)
    for (const file of scripts) {
      const text = readFileSync(join(root, file), 'utf8')
      // What is rewritten already begins with a copy of nothing, and would be rewritten once more.
      const again = withStableShapes(file, text)
      expect(again.replaceAll(/\.\.\.null,\s+(?=\.\.\.null,)/g, '')).toBe(text)
    }
  })

  it('are found only in expressions', () => {
    const text = "const { a, ...rest } = { ...b }; f({ ...b, c: '{ ...d, e }' }, { c, ...b })"
    expect(withStableShapes('script.cjs', text)).toBe(
      "const { a, ...rest } = { ...b }; f({ ...null, ...b, c: '{ ...d, e }' }, { c, ...b })",
    )
  })
})
