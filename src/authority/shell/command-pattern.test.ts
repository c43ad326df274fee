import { describe, expect, it } from 'vitest'
import { PatternError } from '../pattern-error.js'
import type { CommandUnit } from './analysis.js'
import { analyzeCommand } from './analyze-command.js'
import {
  compileCommandPattern,
  patternAllows,
  patternDenies,
  patternSpecificity,
  patternWarnings,
} from './command-pattern.js'

function unit(command: string): CommandUnit {
  return analyzeCommand(command).units[0] ?? expect.fail(`no unit in ${command}`)
}
const allows = (pattern: string, command: string) =>
  patternAllows(compileCommandPattern(pattern), unit(command))
const denies = (pattern: string, command: string) =>
  patternDenies(compileCommandPattern(pattern), unit(command))

describe('a star', () => {
  it.each([
    ['git log', 'git log', true],
    ['git log', 'git log x', false],
    ['git log*', 'git log', true],
    ['git log*', 'git log -p src', true],
    ['npm run build*', 'npm run build-all x', true],
    ['git lo*', 'git log -p', true],
    ['git log *', 'git log', true],
    ['git log *', 'git log -p src', true],
    ['git log **', 'git log -p src', true],
    ['git * --stat', 'git log --stat', true],
    ['git * --stat', 'git --stat', false],
    ['git * --stat', 'git log x --stat', false],
    ['npm run test:*', 'npm run test:unit -- -t x', true],
    ['npm run *:unit', 'npm run test:unit', true],
    ['npm run *:unit', 'npm run test:unit x', false],
    ['npm run t*:u*', 'npm run test:unit x', true],
    ['*', 'anything at all', true],
    ["echo '*'", "echo '*'", true],
    ["echo '*'", 'echo a', false],
    ['echo "a b"', "echo 'a b'", true],
    ['echo a\\ b', "echo 'a b'", true],
  ])('%s and %s: %s', (pattern, command, expected) => {
    expect(allows(pattern, command)).toBe(expected)
    expect(denies(pattern, command)).toBe(expected)
  })
})

describe('allow is strict', () => {
  it.each([
    ['ls *', 'ls $x'],
    ['ls *', 'ls *.ts'],
    ['ls *', '/evil/ls'],
    ['ls *', './ls'],
    ['ls *', 'LS'],
    ['l*', './ls'],
    ['git log*', 'git log --output=f'],
    ['rm *', 'FOO=1 rm x'],
    ['scripts/*', 'scripts/../evil'],
  ])('%s does not allow %s', (pattern, command) => expect(allows(pattern, command)).toBe(false))

  it.each([
    ['ls *', '/bin/ls -la'],
    ['ls *', 'CI=1 ls'],
    ['ls *', '\'l\'s "-l"a'],
    ['./gradlew *', './gradlew build'],
    ['./scripts/*', './scripts/test.sh a'],
  ])('%s allows %s', (pattern, command) => expect(allows(pattern, command)).toBe(true))
})

describe('deny is broad', () => {
  it.each([
    ['rm -rf*', 'rm -rf a'],
    ['rm -rf*', 'rm -fr a'],
    ['rm -rf*', 'rm -r -f a'],
    ['rm -rf*', 'rm -f a -r'],
    ['rm -rf*', 'rm -Rf a'],
    ['rm -rf*', 'rm -rfv a'],
    ['rm -rf*', 'rm --recursive --force a'],
    ['rm -rf*', 'rm --rec -f a'],
    ['rm -rf*', '/usr/bin/rm -rf a'],
    ['rm -rf*', './rm -rf a'],
    ['rm -rf*', 'RM -rf a'],
    ['rm -rf*', 'r""m -r"f" a'],
    ['rm -rf*', 'rm $x a'],
    ['rm -rf*', '$x -rf a'],
    ['rm -r -f *', 'rm -rf a'],
    ['rm --recursive *', 'rm -R a'],
    ['rm -rf /', 'rm -fr /'],
    ['rm /x', 'rm -f /x'],
    ['git push --force*', 'git push origin main --force'],
    ['git push --force*', 'git push -f'],
    ['git push -f*', 'git push --force'],
    ['git push --force*', 'git -C a push --force'],
    ['git push*', 'git -c a=b push'],
    ['git push*', 'git --no-pager push'],
    ['git commit --no-verify*', 'git commit -nm x'],
    ['npm --global *', 'npm install -g x'],
    ['chmod -R 777 *', 'chmod --recursive 777 a'],
    ['curl -o *', 'curl https://a.example -ofile'],
    ['find * -delete', 'find . -delete'],
    ['find * -delete*', 'find . -name x -delete'],
  ])('%s denies %s', (pattern, command) => expect(denies(pattern, command)).toBe(true))

  it.each([
    ['rm -rf*', 'rm a'],
    ['rm -rf*', 'rm -r a'],
    ['rm -rf*', 'rm "./$x"'],
    ['rm -rf*', 'rmdir a'],
    ['rm -rf*', 'echo rm -rf a'],
    ['git push --force*', 'git push origin main'],
    ['git push*', 'git pull'],
    ['rm -rf /', 'rm -rf a'],
    ['find * -delete', 'find . -name dlt -type e'],
  ])('%s does not deny %s', (pattern, command) => expect(denies(pattern, command)).toBe(false))
})

describe('reading a pattern', () => {
  it.each([
    ['', 0],
    ['git "log', 4],
    ["git 'log", 4],
    ['git log\\', 7],
    ['git log; rm', 7],
    ['git log | sh', 8],
    ['git log > f', 8],
    ['echo $(x)', 5],
    ['echo `x`', 5],
    ['a\nb', 1],
  ])('%j fails at %d', (text, position) => {
    const error = (() => {
      try {
        compileCommandPattern(text)
        return undefined
      } catch (caught) {
        return caught
      }
    })()
    expect(error).toBeInstanceOf(PatternError)
    expect(error).toMatchObject({ position })
  })

  it('ranks by exact words, then by literal length', () => {
    expect(patternSpecificity(compileCommandPattern('git log --oneline'))).toEqual([3, 15])
    expect(patternSpecificity(compileCommandPattern('git log *'))).toEqual([2, 6])
    expect(patternSpecificity(compileCommandPattern('git log*'))).toEqual([1, 6])
    expect(patternSpecificity(compileCommandPattern('*'))).toEqual([0, 0])
  })

  it('warns about a star that is joined to a word', () => {
    expect(patternWarnings(compileCommandPattern('git*'))).toEqual([
      '"git*" also matches every other command whose name starts with "git"; "git *" matches only git',
    ])
    expect(patternWarnings(compileCommandPattern('npm run build*'))).toEqual([
      '"npm run build*" also matches words that continue after "build"; "npm run build *" matches only whole words',
    ])
    expect(patternWarnings(compileCommandPattern('*'))).toEqual([])
  })
})
