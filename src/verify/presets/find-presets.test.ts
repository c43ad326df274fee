import { describe, expect, it } from 'vitest'
import { defaultPresets, findPresets } from './find-presets.js'
import type { Listing } from './project.js'

/** A workspace with these files. */
function workspace(files: Readonly<Record<string, string>>): Listing & { readonly looked: string[] } {
  const looked: string[] = []
  return {
    looked,
    names(path) {
      looked.push(path)
      const prefix = path === '.' ? '' : `${path}/`
      const names = Object.keys(files)
        .filter((file) => file.startsWith(prefix))
        .map((file) => file.slice(prefix.length))
      return [...new Set(names.map((name) => (name.includes('/') ? `${name.split('/')[0]}/` : name)))]
    },
    text: (path) => files[path],
  }
}

/** Of every preset, its id and its commands; what is required has a mark. */
function found(files: Readonly<Record<string, string>>): Record<string, string[]> {
  return Object.fromEntries(
    findPresets(workspace(files)).map(({ id, commands }) => [
      id,
      commands.map(({ command, required }) => (required ? `${command} !` : command)),
    ]),
  )
}

const scripts = (given: Readonly<Record<string, string>>, more: object = {}): string =>
  JSON.stringify({ ...more, scripts: given })

describe('the presets of a package', () => {
  it('are its scripts', () => {
    expect(found({ 'package.json': scripts({ test: 'vitest run', lint: 'biome', build: 'tsc' }) })).toEqual({
      'node-default': ['npm test !', 'npm run lint'],
    })
    expect(found({ 'package.json': scripts({ 'type-check': 'tsc', 'test:unit': 'jest' }) })).toEqual({
      'node-default': ['npm run test:unit !', 'npm run type-check'],
    })
    expect(found({ 'package.json': scripts({ build: 'tsc' }) })).toEqual({})
  })

  it.each([
    ['package-lock.json', 'npm test !'],
    ['pnpm-lock.yaml', 'pnpm test !'],
    ['yarn.lock', 'yarn test !'],
    ['bun.lock', 'bun run test !'],
    ['bun.lockb', 'bun run test !'],
  ])('follow the lock file %s', (lock, command) => {
    expect(found({ 'package.json': scripts({ test: 'x' }), [lock]: '' })).toEqual({
      'node-default': [command],
    })
  })

  it('prefer packageManager to any lock file', () => {
    const files = {
      'package.json': scripts({ test: 'x' }, { packageManager: 'pnpm@9.1.0+sha512.abc' }),
      'package-lock.json': '',
    }
    expect(found(files)).toEqual({ 'node-default': ['pnpm test !'] })
  })

  it.each([
    ['is what npm init writes', 'echo "Error: no test specified" && exit 1'],
    ['never ends', 'vitest --watch'],
    ['is empty', ' '],
  ])('omit a test script that %s', (_, script) => {
    expect(found({ 'package.json': scripts({ test: script }) })).toEqual({})
  })

  it('are empty when the manifest cannot be read', () => {
    expect(found({ 'package.json': '{ "scripts": {' })).toEqual({})
    expect(found({ 'package.json': '[1]' })).toEqual({})
    expect(found({ 'package.json': '{"scripts": [], "packageManager": 5}' })).toEqual({})
  })
})

describe('the presets of other projects', () => {
  it.each<[string, Record<string, string>, Record<string, string[]>]>([
    [
      'a crate',
      { 'Cargo.toml': '[package]\nname = "a"' },
      { 'rust-default': ['cargo test !', 'cargo check --all-targets'] },
    ],
    [
      'a workspace of crates',
      { 'Cargo.toml': '[workspace]\nmembers = ["a"]', 'a/Cargo.toml': '[package]' },
      { 'rust-default': ['cargo test --workspace !', 'cargo check --workspace --all-targets'] },
    ],
    ['a module of Go', { 'go.mod': 'module a' }, { 'go-default': ['go test ./... !', 'go vet ./...'] }],
    [
      'pytest by its table',
      { 'pyproject.toml': '[tool.pytest.ini_options]' },
      { 'python-default': ['pytest !'] },
    ],
    ['pytest by its files', { 'setup.py': '', 'tests/test_a.py': '' }, { 'python-default': ['pytest !'] }],
    [
      'uv',
      { 'pyproject.toml': '[dependency-groups]\ndev = ["pytest>=8"]\n[tool.ruff]', 'uv.lock': '' },
      { 'python-default': ['uv run pytest !', 'uv run ruff check .'] },
    ],
    [
      'poetry',
      { 'pyproject.toml': '[tool.poetry.group.dev.dependencies]\npytest = "^8"\n[tool.mypy]' },
      { 'python-default': ['poetry run pytest !', 'poetry run mypy .'] },
    ],
    ['tox alone', { 'tox.ini': '[tox]', 'setup.py': '' }, { 'python-default': ['tox !'] }],
    ['tox with pytest', { 'tox.ini': '[pytest]' }, { 'python-default': ['pytest !', 'tox'] }],
    ['python without tests', { 'setup.py': '' }, {}],
    [
      'a makefile',
      { Makefile: 'CC := gcc\nall: a\n\ttest\n.PHONY: test\ntest lint: all\n\techo\nbuild::\n' },
      { 'make-default': ['make test !', 'make lint'] },
    ],
    ['a makefile without tests', { Makefile: 'test := 5\nall:\n\tmake test\n' }, {}],
  ])('%s', (_, files, presets) => {
    expect(found(files)).toEqual(presets)
  })
})

describe('a repository of many projects', () => {
  it('lists nested projects that no parent covers', () => {
    const files = {
      'package.json': scripts({ build: 'x' }, { workspaces: ['packages/*'] }),
      'pnpm-lock.yaml': '',
      'packages/a/package.json': scripts({ test: 'x' }),
      'packages/b/package.json': scripts({ lint: 'x' }),
      'packages/a/examples/package.json': scripts({ test: 'x' }),
      'services/api/go.mod': '',
      'node_modules/c/package.json': scripts({ test: 'x' }),
      'services/api/vendor/d/go.mod': '',
    }
    expect(found(files)).toEqual({
      'node-default:packages/a': ['pnpm test !'],
      'node-default:packages/b': ['pnpm run lint'],
      'go-default:services/api': ['go test ./... !', 'go vet ./...'],
    })
    const [first] = findPresets(workspace(files))
    expect(first).toMatchObject({
      cwd: 'packages/a',
      commands: [{ id: 'node-test:packages/a', cwd: 'packages/a' }],
    })
  })

  it('lists only the top level when it has checks', () => {
    expect(
      found({ 'package.json': scripts({ test: 'x' }), 'packages/a/package.json': scripts({ test: 'x' }) }),
    ).toEqual({ 'node-default': ['npm test !'] })
  })

  it('is searched for a short time only', () => {
    const files = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, at) => [`d${at}/package.json`, scripts({ test: 'x' })]),
    )
    const listing = workspace(files)
    expect(findPresets(listing).length).toBeLessThanOrEqual(50)
    expect(listing.looked.length).toBeLessThanOrEqual(400)
  })

  it('runs a makefile automatically only where nothing else has tests', () => {
    const makefile = 'test:\n\tnpm test\n'
    const both = findPresets(workspace({ 'package.json': scripts({ test: 'x' }), Makefile: makefile }))
    expect(both.map(({ id }) => id)).toEqual(['node-default', 'make-default'])
    expect(defaultPresets(both).map(({ id }) => id)).toEqual(['node-default'])
    expect(defaultPresets(findPresets(workspace({ Makefile: makefile })))).toHaveLength(1)
  })
})
