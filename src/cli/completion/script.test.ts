import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { CommandEntry } from '../command.js'
import { commandTable } from '../command-table.js'
import { completionScript } from './script.js'

describe('completion', () => {
  it.runIf(existsSync('/bin/bash'))('works in bash', async () => {
    const script = await completionScript('bash', commandTable)
    const complete = (...words: string[]): string[] => {
      const ask = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _capstan; printf '%s\\n' "\${COMPREPLY[@]}"`
      const output = execFileSync('/bin/bash', ['--norc', '-c', `${script}\n${ask}`], { encoding: 'utf8' })
      return output.split('\n').filter(Boolean)
    }
    expect(complete('capstan', 'ru')).toEqual(['run', 'runs', 'rules'])
    expect(complete('capstan', 'run', '--output-f')).toEqual(['--output-format'])
    expect(complete('capstan', 'run', '--mode', 'acc')).toEqual(['accept-edits'])
    expect(complete('capstan', 'sessions', 're')).toEqual(['resume', 'replay'])
    expect(complete('capstan', 'run', '--model', 'x')).toEqual([])
  })

  it.each(['bash', 'zsh', 'fish'] as const)('contains every command and option in %s', async (shell) => {
    const script = await completionScript(shell, commandTable)
    for (const { name, load } of commandTable) {
      expect(script).toContain(name)
      for (const option of (await load()).options)
        expect(script).toMatch(new RegExp(`(--|-l )${option.name}\\b`))
    }
    // A quote that is not closed would swallow the rest of the shell's start-up file.
    expect((script.match(/'/g)?.length ?? 0) % 2).toBe(0)
  })

  // zsh and fish are not installed everywhere. These scripts were tested in zsh 5.9 and fish 3.6, with every character
  // that is special in one of them.
  it('produces the expected script for zsh', async () => {
    expect(await completionScript('zsh', [tricky])).toBe(`#compdef capstan
# zsh completion of capstan
_capstan_actions() {
  _describe 'action' capstan_actions
}
_capstan() {
  local -a commands capstan_actions
  if (( CURRENT == 2 )); then
    commands=(
      'look:here\\: there; (or [not]), "so" $HOME \`a\` it’s'
    )
    _describe 'command' commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
    look)
      capstan_actions=('up:at the sky\\: blue; (or not)')
      _arguments '--plain[without anything]' \\
        '*--rule[as often as you like: "bash(a)" (x)]:rule: ' \\
        {-C,--directory}'[where]:dir:_files -/' \\
        '--config[a file]:file.acl:_files' \\
        '--mode[one of two]:mode:(fast slow)' \\
        '1:action:_capstan_actions' \\
        '*:file:_files' ;;
  esac
}
compdef _capstan capstan
`)
  })

  it('produces the expected script for fish', async () => {
    const script = await completionScript('fish', [tricky])
    expect(
      script.slice(script.indexOf('complete -c')),
    ).toBe(`complete -c capstan -n __capstan_begins -l help -s h -d 'Show help'
complete -c capstan -n __capstan_begins -l version -s V -d 'Print the version'
complete -c capstan -f -n __capstan_begins -a look -d 'here: there; (or [not]), "so" $HOME \`a\` it’s'
complete -c capstan -f -n '__capstan_begins look' -a up -d 'at the sky: blue; (or not)'
complete -c capstan -n '__capstan_is look' -l plain -d 'without anything'
complete -c capstan -n '__capstan_is look' -l rule -x -d 'as often as you like: "bash(a)" [x]'
complete -c capstan -n '__capstan_is look' -l directory -s C -x -a '(__fish_complete_directories)' -d 'where'
complete -c capstan -n '__capstan_is look' -l config -r -F -d 'a file'
complete -c capstan -n '__capstan_is look' -l mode -x -a 'fast slow' -d 'one of two'
`)
  })
})

const tricky: CommandEntry = {
  name: 'look',
  summary: `here: there; (or [not]), "so" $HOME \`a\` it's`,
  load: async () => ({
    usage: [],
    actions: { up: 'at the sky: blue; (or not)' },
    options: [
      { name: 'plain', summary: 'without anything' },
      { name: 'rule', value: 'rule', repeatable: true, summary: 'as often as you like: "bash(a)" [x]' },
      { name: 'directory', short: 'C', value: 'dir', summary: 'where' },
      { name: 'config', value: 'file.acl', summary: 'a file' },
      { name: 'mode', value: 'mode', choices: ['fast', 'slow'], summary: 'one of two' },
    ],
    examples: [],
    run: async () => 0,
  }),
}
