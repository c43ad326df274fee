import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { nextVersion, parseChange, readChanges, withRelease, withVersion } from '../../scripts/release.mjs'
import { packageJson } from './package-entries.js'
import { root } from './run.js'

const change = (size: string, summary: string): string => `---\n"capstan": ${size}\n---\n\n${summary}\n`

describe('a release', () => {
  it('has a section of the changelog for the version of the package', () => {
    const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
    expect(changelog).toMatch(new RegExp(`^## ${packageJson.version.replaceAll('.', '\\.')}$`, 'm'))
  })

  it('can be made from the pending changes', () => {
    expect(() => readChanges(join(root, '.changeset'))).not.toThrow()
  })

  it('raises the version by the largest change, and before 1.0.0 the minor version for a breaking one', () => {
    expect(nextVersion('0.2.0', 'patch')).toBe('0.2.1')
    expect(nextVersion('0.2.1', 'minor')).toBe('0.3.0')
    expect(nextVersion('0.2.1', 'major')).toBe('0.3.0')
    expect(nextVersion('1.2.3', 'major')).toBe('2.0.0')
  })

  it('puts its section before the earlier ones, breaking changes first', () => {
    const changes = [
      parseChange('a.md', change('patch', 'Fixes a leak.'), 'capstan'),
      parseChange('b.md', change('major', 'Renames `a`.\nUse `b`.'), 'capstan'),
    ]
    expect(withRelease('# Changelog\n\n## 0.1.0\n\n- First.\n', '0.2.0', changes)).toBe(
      '# Changelog\n\n## 0.2.0\n\n### Breaking\n\n- Renames `a`.\n  Use `b`.\n\n### Fixed\n\n- Fixes a leak.\n\n## 0.1.0\n\n- First.\n',
    )
    expect(withRelease('# Changelog\n', '0.1.0', changes)).toMatch(/^# Changelog\n\n## 0\.1\.0\n/)
  })

  it('rejects a change without a known size, of another package, or without a description', () => {
    expect(() => parseChange('a.md', change('huge', 'x'), 'capstan')).toThrow('a.md must begin with')
    expect(() => parseChange('a.md', change('minor', 'x'), 'other')).toThrow('"other": minor')
    expect(() => parseChange('a.md', 'x', 'capstan')).toThrow('a.md must begin with')
    expect(() => parseChange('a.md', change('minor', ''), 'capstan')).toThrow('does not describe')
  })

  it('changes the version of the package in both files, and of no dependency', () => {
    for (const file of ['package.json', 'package-lock.json']) {
      const text = readFileSync(join(root, file), 'utf8')
      const changed = withVersion(text, packageJson, '9.8.7')
      const count = file === 'package.json' ? 1 : 2
      expect(changed.split('"version": "9.8.7"')).toHaveLength(count + 1)
      expect(withVersion(changed, { ...packageJson, version: '9.8.7' }, packageJson.version)).toBe(text)
    }
  })
})
