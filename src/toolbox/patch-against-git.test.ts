import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sharedDirectory } from '../../test/support/temporary-directory.js'
import { toolboxWorkspace } from '../../test/toolbox/workspace.js'
import { CapstanError } from '../tool/errors.js'
import { type AppliedHunks, applyHunks } from './apply-hunks.js'
import { patchTool } from './patch.js'
import { parseDiff } from './unified-diff.js'

/** Few different lines, so that blocks repeat and a wrong place is likely; every kind of ending. */
const line = fc.constantFrom(
  'a',
  'b',
  'c',
  '',
  '  x',
  'ü',
  '-- sql',
  '++ plus',
  '@@ at',
  '\\ back',
  'a\r',
  '\r',
  '--- a/f',
  '+++ b/f',
)
const text = fc
  .tuple(fc.array(line, { maxLength: 24 }), fc.boolean(), fc.boolean())
  .map(
    ([lines, final, mark]) =>
      (mark ? '\uFEFF' : '') + lines.join('\n') + (final && lines.length > 0 ? '\n' : ''),
  )
/** A text and what a few edits make of it. */
const pair = fc
  .tuple(
    text,
    fc.array(fc.tuple(fc.nat(30), fc.constantFrom('drop', 'add', 'change'), line), { maxLength: 4 }),
    fc.boolean(),
  )
  .map(([before, edits, final]): [string, string] => {
    const lines = before.split('\n')
    for (const [at, what, other] of edits) {
      const place = at % (lines.length + 1)
      lines.splice(place, what === 'add' ? 0 : 1, ...(what === 'drop' ? [] : [other]))
    }
    const after = lines.join('\n')
    return [before, final && after !== '' && !after.endsWith('\n') ? `${after}\n` : after]
  })

const base = sharedDirectory()

const env = {
  PATH: process.env['PATH'],
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  HOME: '/nonexistent',
  LC_ALL: 'C',
}

function git(cwd: string, args: readonly string[]): string {
  return execFileSync('git', ['-c', 'core.autocrlf=false', '-c', 'core.safecrlf=false', ...args], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

/** What git makes of it; undefined where it refuses. */
function gitApply(before: string, diff: string, flags: readonly string[]): string | undefined {
  const cwd = mkdtempSync(join(base, 'apply-'))
  writeFileSync(join(cwd, 'f'), before)
  const { status } = spawnSync('git', ['apply', '--whitespace=nowarn', ...flags, '-'], {
    cwd,
    env,
    input: diff,
  })
  if (status !== 0) return undefined
  return existsSync(join(cwd, 'f')) ? readFileSync(join(cwd, 'f'), 'utf8') : ''
}

function ourApply(before: string, diff: string): (AppliedHunks & { recounted: boolean }) | undefined {
  try {
    const [patch, ...others] = parseDiff(diff)
    if (patch === undefined || others.length > 0 || patch.change !== 'modify') return undefined
    return { ...applyHunks(before, patch.hunks), recounted: patch.hunks.some(({ recounted }) => recounted) }
  } catch (thrown) {
    if (thrown instanceof CapstanError) return undefined
    throw thrown
  }
}

/** The diff of each pair, empty where both texts are the same; with names that both programs take. */
function diffsOf(pairs: readonly (readonly [before: string, after: string])[], context: number): string[] {
  const cwd = mkdtempSync(join(base, 'diff-'))
  for (const [which, name] of ['before', 'after'].entries()) {
    mkdirSync(join(cwd, name))
    for (const [at, texts] of pairs.entries()) writeFileSync(join(cwd, name, String(at)), texts[which] ?? '')
  }
  const { stdout } = spawnSync('diff', ['-r', '-a', `-U${context}`, 'before', 'after'], {
    cwd,
    env,
    encoding: 'utf8',
  })
  const diffs = pairs.map(() => '')
  for (const [, at, hunks] of stdout.matchAll(fileInDiff)) diffs[Number(at)] = `--- a/f\n+++ b/f\n${hunks}`
  return diffs
}

/** One file in the output of `diff -r`: no line of a hunk begins with `diff`. */
const fileInDiff = /^diff .* after\/(\d+)\n--- .*\n\+\+\+ .*\n((?:(?!diff ).*\r*\n)*)/gm

describe('patch and git', () => {
  it.each([3, 1, 0])(
    'produces the same bytes for every diff that git writes with %i lines of context',
    async (context) => {
      const pairs = fc.sample(pair, { numRuns: 60, seed: 41 + context })
      const files = new Map(pairs.map((one, index) => [`dir ${index % 7}/f${index}.txt`, one] as const))
      const workspace = await toolboxWorkspace(
        Object.fromEntries(
          [...files].filter(([, [before]]) => before !== '').map(([path, [before]]) => [path, before]),
        ),
      )
      const repo = mkdtempSync(join(base, 'repo-'))
      git(repo, ['init', '-q'])
      const lay = (which: 0 | 1): void => {
        for (const [path, versions] of files) {
          const target = join(repo, path)
          if (versions[which] === '') rmSync(target, { force: true })
          else {
            mkdirSync(dirname(target), { recursive: true })
            writeFileSync(target, versions[which])
          }
        }
      }
      lay(0)
      git(repo, ['add', '-A'])
      lay(1)
      git(repo, ['add', '-N', '--no-all', '.'])
      const diff = git(repo, ['diff', '-a', '--no-renames', `-U${context}`])
      const envelope = await workspace.call(patchTool, { diff })
      expect(envelope).toMatchObject({ type: 'output' })
      for (const [path, [before, after]] of files) {
        const target = join(workspace.root, path)
        expect(existsSync(target) ? readFileSync(target, 'utf8') : '', JSON.stringify([before, after])).toBe(
          after,
        )
      }
      await workspace.close()
    },
  )

  it('produces the same bytes for every diff that diff writes', () => {
    for (const context of [0, 1, 3]) {
      const pairs = fc.sample(pair, 20)
      for (const [at, diff] of diffsOf(pairs, context).entries()) {
        const [before = '', after] = pairs[at] ?? []
        if (diff === '') expect(before).toBe(after)
        else expect(ourApply(before, diff)?.text, JSON.stringify([before, after, context])).toBe(after)
      }
    }
  })

  it('uses the line number where git would use the end of the file', () => {
    const [diff = ''] = diffsOf([['a\na\na\n', 'a\na\n\n']], 1)
    expect(gitApply('a\na\na\na\n', diff, [])).toBe('a\na\na\n\n')
    expect(ourApply('a\na\na\na\n', diff)?.text).toBe('a\na\n\na\n')
  })

  it('never produces another result than git for a damaged diff, or for a file that has changed', () => {
    let applied = 0
    const damage = fc.record({
      kind: fc.constantFrom('none', 'drop', 'double', 'mark', 'number', 'cut', 'swap'),
      at: fc.nat(40),
      to: fc.constantFrom(' ', '+', '-'),
      by: fc.integer({ min: 1, max: 9 }),
    })
    const later = fc.array(fc.tuple(fc.nat(30), line), { maxLength: 2 })
    for (const context of [1, 3]) {
      const cases = fc.sample(fc.tuple(pair, later, damage), 60)
      const diffs = diffsOf(
        cases.map(([texts]) => texts),
        context,
      )
      for (const [at, [[before], moved, harm]] of cases.entries()) {
        const clean = diffs[at] ?? ''
        if (clean === '') continue
        const diff = damaged(clean, harm)
        const lines = before.split('\n')
        for (const [place, extra] of moved) lines.splice(place % (lines.length + 1), 0, extra)
        const now = lines.join('\n')
        // There git is not a measure: it takes a last line without an ending for the beginning of any line, and glues
        // lines.
        if (diff.includes('\n\\ No newline') && (now !== before || harm.kind !== 'none')) continue
        const ours = ourApply(now, diff)
        // A header that says there were no lines, above lines: git holds it to the top, ours looks for the one place.
        if (ours === undefined || (ours.recounted && diff.includes('\n@@ -0'))) continue
        applied++
        const bent = ours.notes.some((note) => note.startsWith('line endings'))
        const strict = ours.recounted ? undefined : gitApply(now, diff, [])
        const shown = JSON.stringify({ now, diff })
        // git holds a hunk without lines after its change to the end of the file. Models leave such lines out, so ours
        // goes by the line number where the hunk fits there.
        const isByNumber = !ours.notes.some((note) => note.includes('was applied at line'))
        if (strict !== undefined && isByNumber && /\n[-+][^\n]*\n?$/.test(diff))
          expect([strict, gitApply(now, diff, ['--unidiff-zero'])], shown).toContain(ours.text)
        else if (strict !== undefined) expect(ours.text, shown).toBe(strict)
        else if (!bent) {
          const flags = ours.recounted ? ['--unidiff-zero', '--recount'] : ['--unidiff-zero']
          expect(ours.text, shown).toBe(gitApply(now, diff, flags))
        }
      }
    }
    expect(applied).toBeGreaterThan(5)
  })
})

type Damage = { kind: string; at: number; to: string; by: number }

function damaged(diff: string, { kind, at, to, by }: Damage): string {
  const lines = diff.split('\n')
  const place = 2 + (at % Math.max(1, lines.length - 3))
  const victim = lines[place] ?? ''
  if (kind === 'drop') lines.splice(place, 1)
  if (kind === 'double') lines.splice(place, 0, victim)
  if (kind === 'mark' && !victim.startsWith('@@')) lines[place] = to + victim.slice(1)
  if (kind === 'number') lines[2] = (lines[2] ?? '').replace(/\d+/, String(by))
  if (kind === 'cut') lines.splice(place + 1)
  if (kind === 'swap') lines.splice(place, 2, lines[place + 1] ?? '', victim)
  // Git wants a line feed at the end; ours does without, which is tested elsewhere.
  return lines.join('\n').replace(/\n?$/, '\n')
}
