import { describe, expect, it } from 'vitest'
import { analyzeCommand } from './analyze-command.js'

describe('analyzeCommand', () => {
  it('splits a command into simple commands with their words', () => {
    const { units, doubts } = analyzeCommand('cd src && git log --oneline | head -n "5"')
    expect(doubts).toEqual([])
    expect(
      units.map(({ text, words, cwd }) => ({ text, words: words.map((word) => word.value), cwd })),
    ).toEqual([
      { text: 'cd src', words: ['cd', 'src'], cwd: '.' },
      { text: 'git log --oneline', words: ['git', 'log', '--oneline'], cwd: 'src' },
      { text: 'head -n "5"', words: ['head', '-n', '5'], cwd: 'src' },
    ])
  })

  it('starts in the given directory', () => {
    const { units, paths } = analyzeCommand('cat a; cd sub && ./x', { cwd: '/ship' })
    expect(units.map((unit) => unit.cwd)).toEqual(['/ship', '/ship', '/ship/sub'])
    expect(paths[0]).toEqual({ fs: 'read', origin: 'argument', path: 'a', cwd: '/ship', unit: 0 })
    expect(units[2]?.doubts).toEqual(['./x is a program of another directory'])
  })

  it.each([
    ['git diff /etc/hostname a', ['/etc/hostname']],
    ['git diff -- ../other/b c', ['../other/b']],
    ['git diff src/../../d', ['src/../../d']],
    ['git diff --no-index a b', ['a', 'b']],
    ['git diff HEAD~1 -- src/a.ts', []],
    ['git diff main..dev', []],
  ])('reports which files outside of its repository %s reads', (command, read) => {
    const { paths } = analyzeCommand(command)
    expect(paths.flatMap(({ path, origin }) => (origin === 'argument' ? [path] : []))).toEqual(read)
  })

  it('keeps the certain beginning of a word that is not static', () => {
    const [unit] = analyzeCommand('cat "src/$x" $y ~/z').units
    expect(unit?.words.slice(1)).toEqual([
      { text: '"src/$x"', prefix: 'src/' },
      { text: '$y' },
      { text: '~/z' },
    ])
  })

  it('records assignments and redirections of a command', () => {
    const [unit] = analyzeCommand('CI=1 LANG="C" ls > out 2>&1 < in').units
    expect(unit?.assignments.map(({ name, value }) => [name, value.value])).toEqual([
      ['CI', '1'],
      ['LANG', 'C'],
    ])
    expect(unit?.redirections.map(({ mode, target }) => [mode, target.value])).toEqual([
      ['write', 'out'],
      ['read', 'in'],
    ])
  })

  it.each([
    ['timeout 10 npm test', [true, undefined]],
    ["bash -c 'npm test'", [true, undefined]],
    ['CI=1', [true]],
    ['cd a && ls', [true, undefined]],
    ['cd "$a" && ls', [undefined, undefined]],
    ['./env ls', [undefined, undefined]],
    ['sudo ls', [undefined, undefined]],
    ['> f', [true]],
    ['env', [undefined]],
  ])('recognises commands that only start other commands: %s', (command, transparent) => {
    expect(analyzeCommand(command).units.map((unit) => unit.transparent)).toEqual(transparent)
  })

  it('marks every unit as doubtful after a redefinition', () => {
    for (const command of [
      'ls; f() { rm x; }; pwd',
      'ls; PATH=/evil; pwd',
      'ls; alias a=b; pwd',
      'ls; hash -r; pwd',
    ]) {
      for (const unit of analyzeCommand(command).units) expect(unit.doubts).not.toEqual([])
    }
  })

  it('rejects a command that can never run', () => {
    expect(analyzeCommand('ls \0')).toMatchObject({ invalid: 'the command contains a NUL byte', units: [] })
    expect(analyzeCommand('ls \ud800').invalid).toBeDefined()
  })

  it.each([
    ['', 'there is no command in it'],
    ['# nothing', 'there is no command in it'],
    [`echo ${'a'.repeat(9000)}`, 'the command is longer than 8192 bytes'],
    [`echo ${'é'.repeat(5000)}`, 'the command is longer than 8192 bytes'],
    [`${'('.repeat(33)}ls${')'.repeat(33)}`, 'the command nests more than 32 levels deep'],
    ['ls; '.repeat(201), 'it has more than 200 commands'],
    ['ls \u202e', 'the command contains the invisible or unusual character U+202E'],
    ['echo "', 'the command was not understood'],
    ["bash -c 'echo \"'", 'a script inside the command was not understood'],
    ['(( x ))', 'bash evaluates the variables of an arithmetic expression'],
  ])('reports for %j that %s', (command, doubt) => {
    expect(analyzeCommand(command).doubts).toContain(doubt)
  })

  it.each([
    "true $(<<< x [[ 'a[$(rm y)]' -eq 0 ]])",
    'true $(< f ! rm y)',
    'true $(> f coproc rm y)',
    'true `2> f time rm y`',
  ])('doubts a keyword after a redirection, which bash moves to the end of a substitution: %s', (script) => {
    expect(analyzeCommand(script).doubts).toContainEqual(
      expect.stringMatching(/^bash may read .+ as a keyword$/),
    )
  })

  it('analyzes nested scripts up to four levels, and reports a doubt beyond', () => {
    const nest = (script: string): string => `bash -c '${script.replaceAll("'", "'\\''")}'`
    let script = 'rm x'
    for (let depth = 1; depth <= 4; depth++) script = nest(script)
    expect(analyzeCommand(script).doubts).toEqual([])
    expect(analyzeCommand(script).units.at(-1)?.text).toBe('rm x')
    const deeper = analyzeCommand(nest(script))
    expect(deeper.doubts).toContain('scripts are nested too deep')
    expect(deeper.units.some((unit) => unit.words[0]?.value === 'rm')).toBe(true)
  })
})
