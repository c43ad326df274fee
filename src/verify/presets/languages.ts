import type { FoundCheck, Kind, Place } from './project.js'

export const rustKind: Kind = {
  id: 'rust',
  find({ text }) {
    const manifest = text('Cargo.toml')
    if (manifest === undefined) return undefined
    const all = hasTable(manifest, 'workspace') ? ' --workspace' : ''
    return {
      tool: 'cargo',
      checks: [
        test(`The tests of the ${all === '' ? 'crate' : 'workspace'}`, `cargo test${all}`),
        optional(
          'typecheck',
          'Everything compiles, tests and examples too',
          `cargo check${all} --all-targets`,
        ),
      ],
    }
  },
}

export const goKind: Kind = {
  id: 'go',
  find({ names }) {
    if (!names.has('go.mod')) return undefined
    return {
      tool: 'go',
      checks: [
        test('The tests of the module', 'go test ./...'),
        optional('lint', 'What go vet finds', 'go vet ./...'),
      ],
    }
  },
}

export const pythonKind: Kind = {
  id: 'python',
  find(place) {
    const { names } = place
    if (!pythonFiles.some((file) => names.has(file))) return undefined
    const project = place.text('pyproject.toml') ?? ''
    const runner = runnerOf(place, project)
    const prefix = runner === 'python' ? '' : `${runner} run `
    const tox = names.has('tox.ini') || hasTable(project, 'tool.tox')
    const pytest = usesPytest(place, project)
    return {
      tool: runner,
      checks: [
        ...(pytest ? [test('The tests, with pytest', `${prefix}pytest`)] : []),
        // Tox runs the same tests once per environment: optional if pytest alone can run them.
        ...(tox && !pytest ? [test('The environments of tox', 'tox')] : []),
        ...(tox && pytest ? [optional('test', 'The environments of tox', 'tox')] : []),
        ...(names.has('mypy.ini') || hasTable(project, 'tool.mypy')
          ? [optional('typecheck', 'Types, with mypy', `${prefix}mypy .`)]
          : []),
        ...(names.has('ruff.toml') || hasTable(project, 'tool.ruff')
          ? [optional('lint', 'What ruff finds', `${prefix}ruff check .`)]
          : []),
      ],
    }
  },
}

const pythonFiles = [
  'pyproject.toml',
  'setup.py',
  'setup.cfg',
  'tox.ini',
  'pytest.ini',
  'requirements.txt',
  'uv.lock',
  'poetry.lock',
]

function runnerOf({ names }: Place, project: string): 'uv' | 'poetry' | 'python' {
  if (names.has('uv.lock') || hasTable(project, 'tool.uv')) return 'uv'
  return names.has('poetry.lock') || hasTable(project, 'tool.poetry') ? 'poetry' : 'python'
}

/** Whether the project configures pytest, or has test files that only pytest would find. */
function usesPytest({ names, text, list }: Place, project: string): boolean {
  if (names.has('pytest.ini') || names.has('conftest.py') || hasTable(project, 'tool.pytest')) return true
  if (/^\s*\[(?:tool:)?pytest\]/m.test(`${text('setup.cfg') ?? ''}\n${text('tox.ini') ?? ''}`)) return true
  if (/(?:^|["'\s])pytest\b/m.test(`${project}\n${text('requirements.txt') ?? ''}`)) return true
  return ['tests', 'test'].some((directory) => names.has(`${directory}/`) && list(directory).some(isTestFile))
}

function isTestFile(name: string): boolean {
  return name === 'conftest.py' || /^test_.*\.py$|_test\.py$/.test(name)
}

export const makeKind: Kind = {
  id: 'make',
  find({ names, text }) {
    // In the order in which make looks for them.
    const file = ['GNUmakefile', 'makefile', 'Makefile'].find((one) => names.has(one))
    const rules = file === undefined ? undefined : text(file)
    if (rules === undefined) return undefined
    const targets = targetsOf(rules)
    const make = (wanted: readonly string[], check: (what: string, command: string) => FoundCheck) => {
      const name = wanted.find((one) => targets.has(one))
      if (name === undefined) return []
      return [{ ...check(`The target ${name}`, `make ${name}`), definition: targets.get(name) ?? '' }]
    }
    return {
      tool: 'make',
      checks: [
        ...make(['test', 'tests', 'check'], test),
        ...make(['typecheck', 'types'], (what, command) => optional('typecheck', what, command)),
        ...make(['lint'], (what, command) => optional('lint', what, command)),
      ],
    }
  },
}

/** Returns the names before a colon at the start of a line, each with its recipe; `a := b` is a variable. */
function targetsOf(rules: string): ReadonlyMap<string, string> {
  const targets = new Map<string, string>()
  const rule = /^([A-Za-z0-9_.\-/ ]+?)\s*::?(?!=|:=)(.*(?:\n\t.*)*)/gm
  for (const [, names = '', recipe = ''] of rules.matchAll(rule))
    for (const name of names.split(/\s+/)) targets.set(name, `${targets.get(name) ?? ''}${recipe}`.trim())
  return targets
}

/** Whether the file has this table or a subtable of it. */
function hasTable(toml: string, name: string): boolean {
  const escaped = name.replaceAll('.', '\\s*\\.\\s*')
  return new RegExp(`^\\s*\\[{1,2}\\s*${escaped}\\s*(?:\\]|\\.)`, 'm').test(toml)
}

function test(description: string, command: string): FoundCheck {
  return { kind: 'test', description, command, required: true }
}

function optional(kind: FoundCheck['kind'], description: string, command: string): FoundCheck {
  return { kind, description, command, required: false }
}
