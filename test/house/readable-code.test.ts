import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { breakLines } from '../../scripts/break-lines.mjs'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { root, runNode } from './run.js'
import { listFiles } from './source-tree.js'

const maxLength = 500

describe('the built scripts', () => {
  it('have no line over 500 characters, apart from strings and regular expressions', () => {
    const scripts = listFiles('dist', /\.js$/)
    expect(scripts.length).toBeGreaterThan(50)
    const long = scripts.flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .flatMap((line, at) => (withoutData(line).length > maxLength ? [`${file}:${at + 1}`] : [])),
    )
    expect(long).toEqual([])
  })

  it('show a short line when an error is not caught', async () => {
    const throwing = `import { compilePolicy } from 'capstan/authority'; compilePolicy({ deny: ['bash('] })`
    const { code, stderr } = await runNode(['--input-type=module', '-e', throwing])
    expect(code).toBe(1)
    expect(stderr).toContain(join(root, 'dist'))
    expect(Math.max(...stderr.split('\n').map(({ length }) => length))).toBeLessThan(maxLength)
  })
})

describe('breaking long lines', () => {
  it('does not change what a script does', async () => {
    const path = join(temporaryDirectory(), 'script.js')
    const words = Array.from({ length: 60 }, (_, at) => `word${at}`)
    const script = [
      `const { ${words.join(', ')} } = { ${words.map((word) => `${word}: "${word}, && {"`).join(', ')} };`,
      `const sum = (a, b) => (${words.map((word) => `${word} === a || b`).join(' && ')});`,
      `const text = \`${'long text, '.repeat(30)}\${[${words.join(', ')}].join(", ")}${'and more  '.repeat(20)}  `,
      `end\`;`,
      `let count = 0; ${words.map(() => 'count++').join(', ')}, count = count ? count + 1 : ${words.map(() => '1').join(' + ')};`,
      `export { ${words.join(', ')}, sum, text, count };`,
    ].join('\n')
    writeFileSync(path, script)
    const before = { ...(await import(`${pathToFileURL(path).href}?before`)) }
    breakLines(path)
    const after = { ...(await import(`${pathToFileURL(path).href}?after`)) }
    const { sum: sumBefore, ...dataBefore } = before
    const { sum: sumAfter, ...dataAfter } = after
    expect(dataAfter).toEqual(dataBefore)
    expect(dataAfter.text).toMatch(/ {2}\nend$/)
    expect(sumAfter(1, 2)).toBe(sumBefore(1, 2))
    const lines = readFileSync(path, 'utf8').split('\n')
    expect(lines.length).toBeGreaterThan(20)
    expect(
      lines.filter((line) => withoutData(line).length > 200 && !/long text|and more/.test(line)),
    ).toEqual([])
  })
})

/** A line without its strings and regular expressions, which no line break may enter. */
function withoutData(line: string): string {
  if (line.length <= maxLength) return line
  return line.replace(
    /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|\/(?:[^/\\[]|\\.|\[(?:[^\]\\]|\\.)*\])+\//g,
    '',
  )
}
