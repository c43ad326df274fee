import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { commandTable } from '../command-table.js'
import { completionScript } from './script.js'

describe('completion', () => {
  it.runIf(existsSync('/bin/bash'))('works in bash', async () => {
    const script = await completionScript('bash', commandTable)
    const complete = (...words: string[]): string[] => {
      const ask = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _capstan; printf '%s\\n' "\${COMPREPLY[@]}"`
      const said = execFileSync('/bin/bash', ['--norc', '-c', `${script}\n${ask}`], { encoding: 'utf8' })
      return said.split('\n').filter(Boolean)
    }
    expect(complete('capstan', 'ru')).toEqual(['run'])
    expect(complete('capstan', 'run', '--output-f')).toEqual(['--output-format'])
    expect(complete('capstan', 'run', '--mode', 'acc')).toEqual(['accept-edits'])
    expect(complete('capstan', 'sessions', 're')).toEqual(['resume', 'replay'])
    expect(complete('capstan', 'run', '--model', 'x')).toEqual([])
  })

  it.each(['bash', 'zsh', 'fish'] as const)('knows every command and option in %s', async (shell) => {
    const script = await completionScript(shell, commandTable)
    for (const { name, load } of commandTable) {
      expect(script).toContain(name)
      for (const option of (await load()).options)
        expect(script).toMatch(new RegExp(`(--|-l )${option.name}\\b`))
    }
    // A quote that is not closed would swallow the rest of the shell's start-up file.
    expect((script.match(/'/g)?.length ?? 0) % 2).toBe(0)
  })
})
