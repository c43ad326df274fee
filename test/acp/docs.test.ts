import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isRecord } from '../../src/tool/json.js'
import { extractBlocks } from '../house/docs-blocks.js'
import { root } from '../house/run.js'

const blocks = extractBlocks('docs/acp.md', readFileSync(join(root, 'docs/acp.md'), 'utf8'))
const blocksIn = (language: string): string[] =>
  blocks.filter((block) => block.language === language).map(({ code }) => code)

describe('the page about editors', () => {
  it.each(blocksIn('json'))('has settings for Zed and JetBrains that start capstan acp', (code) => {
    const settings: unknown = JSON.parse(code)
    const servers = isRecord(settings) ? settings['agent_servers'] : undefined
    expect(isRecord(servers) ? Object.values(servers) : []).toMatchObject([
      { command: 'capstan', args: ['acp'], env: {} },
    ])
  })

  it('has Lua and Emacs Lisp that start capstan acp', () => {
    expect(blocksIn('lua')).toEqual([expect.stringMatching(/command = "capstan",\s+args = \{ "acp" \}/)])
    expect(blocksIn('elisp')).toEqual([
      expect.stringMatching(/:command "capstan"\s+:command-params '\("acp"\)/),
    ])
  })

  it.runIf(has('luac'))('has Lua that its compiler accepts', () => {
    for (const input of blocksIn('lua')) execFileSync('luac', ['-p', '-'], { input })
  })

  it.runIf(has('emacs'))('has Emacs Lisp that its reader accepts', () => {
    for (const code of blocksIn('elisp'))
      execFileSync('emacs', ['--batch', '--eval', `(car (read-from-string ${JSON.stringify(`(${code})`)}))`])
  })
})

function has(command: string): boolean {
  try {
    execFileSync(command, ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    // It is not installed: the brackets are checked with all documents.
    return false
  }
}
