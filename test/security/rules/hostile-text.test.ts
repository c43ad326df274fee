import { describe, expect, it } from 'vitest'
import {
  compileHostPattern,
  compilePathPattern,
  compilePolicy,
  createRuleBook,
  defaultRules,
  defaultWatchdog,
  expandCall,
  judge,
  parseHost,
  parseProjectRules,
} from '../../../src/authority/index.js'
import { bash, scope } from './p0.js'

const size = 100_000
const hostile = [
  'a',
  ':',
  '*',
  '$',
  '$a',
  '(',
  '\\',
  '/',
  '~',
  '.',
  '%',
  '@',
  ' ',
  '\n',
  '{a,',
  '[',
  '"',
  'mcp__',
  '$KEY',
  '-d=@',
  '|nc ',
  '..',
].map((piece) => `${piece.repeat(Math.ceil(size / piece.length))}!`)

function refusedOrRead(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    expect(error).toHaveProperty('code')
  }
}

describe('SEC-247 a long hostile text takes little time', () => {
  const book = createRuleBook({ scope, rules: defaultRules })
  const readers: [string, (text: string) => unknown][] = [
    ['a host', parseHost],
    ['a host pattern', compileHostPattern],
    ['a path pattern', (text) => compilePathPattern(text, { scope, use: 'restrict' })],
    ['a policy string', (text) => compilePolicy({ deny: [text, `bash(${text})`, `read(${text})`] })],
    ['a project file', (text) => parseProjectRules(`deny read(${text}`, scope)],
    ['a path', (text) => judge({ tool: 'write', subjects: [{ fs: 'write', path: text }] }, book)],
  ]
  it.each(readers)('as %s', (_, read) => {
    for (const text of hostile) {
      refusedOrRead(() => read(text))
      // 50 ms is the target; the bound is for shared machines.
    }
  })

  it('as a command of the maximum size that is parsed', () => {
    for (const text of hostile) {
      const call = bash(`curl ${text.slice(0, 4000)}`)
      const expanded = expandCall(call, scope)
      judge(expanded, book)
      defaultWatchdog({ tool: 'bash', args: {}, expanded })
    }
  })
})
