import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePolicy } from './policy.js'
import { readToolList, toolsOf } from './tool-list.js'

describe('the tools that a skill or an agent names', () => {
  it.each([
    ['nothing', undefined, []],
    ['commas', 'read(*), grep(*)', ['read', 'grep']],
    ['blanks', 'Read Grep  Glob', ['read', 'grep', 'glob']],
    ['a list', ['Read', 'Bash(git status)'], ['read', 'bash(git status)']],
    ['commas inside of parentheses', 'Bash(ls a, b), Read', ['bash(ls a, b)', 'read']],
    ['commands with any arguments', 'Bash(git *)', ['bash(git *)']],
    ['the form with a colon', 'Bash(npm run test:*)', ['bash(npm run test)', 'bash(npm run test *)']],
    ['names of other systems', 'WebFetch, MultiEdit, TodoWrite, LS', ['web_fetch', 'edit', 'todo', 'ls']],
    ['paths', 'Read(src/**), Write(docs/*.md)', ['read(src/**)', 'write(docs/*.md)']],
    ['tools of servers', 'mcp__github__get_issue mcp__files', ['mcp:github:get_issue', 'mcp:files:*']],
    ['all of them', '*', ['*']],
    ['tools of a host', 'my_tool', ['my_tool']],
    ['the same twice', 'Read, read', ['read']],
  ])('are parsed: %s', (_, given, rules) => {
    expect(readToolList(given)).toEqual({ rules, problems: [] })
  })

  it.each([
    ['Bash(git', 'position'],
    ['Read, ???, Grep', 'neither a tool id'],
    [{ read: true }, 'must be a text or a list'],
    [['Read', 7], 'must be a text or a list'],
    ['bash()', 'empty pattern'],
  ])('omit what cannot be parsed, and report it: %j', (given, words) => {
    const { rules, problems } = readToolList(given)
    expect(problems.join('\n')).toContain(words)
    expect(rules.every((rule) => ['read', 'grep'].includes(rule))).toBe(true)
  })

  it('are rules that a policy accepts, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.array(fc.string())), (given) => {
        const { rules } = readToolList(given)
        for (const rule of rules) {
          let bad: unknown
          try {
            compilePolicy({ allow: [rule] })
          } catch (error) {
            bad = error
          }
          // A pattern may still be invalid for its tool; then it allows nothing.
          if (bad !== undefined) expect((bad as Error).name).toBe('PolicyError')
        }
      }),
    )
  })

  it('list the tools, and none when none were named', () => {
    expect(toolsOf(['bash(git *)', 'bash(ls)', 'read', 'mcp:github:get_issue'])).toEqual([
      'bash',
      'read',
      'mcp__github__get_issue',
    ])
    expect(toolsOf([])).toEqual([])
    expect(toolsOf(['read', '*'])).toBeUndefined()
  })
})
