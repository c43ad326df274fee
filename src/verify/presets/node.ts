import { tryOr } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import type { Found, FoundCheck, Kind, Place } from './project.js'

type Manager = 'npm' | 'pnpm' | 'yarn' | 'bun'

/** A Node package, with its scripts and its package manager. */
export const nodeKind: Kind = {
  id: 'node',
  find(place, above) {
    const manifest = manifestOf(place)
    if (manifest === undefined) return undefined
    const manager = managerOf(place, manifest) ?? managerAbove(above) ?? 'npm'
    const scripts = isRecord(manifest['scripts']) ? manifest['scripts'] : {}
    return { tool: manager, checks: wanted.flatMap((want) => checkFor(want, scripts, manager)) }
  },
}

function manifestOf(place: Place): Readonly<Record<string, unknown>> | undefined {
  const text = place.text('package.json')
  if (text === undefined) return undefined
  // No package manager would accept a manifest that is not valid JSON either.
  const value: unknown = tryOr(() => JSON.parse(text), undefined)
  return isRecord(value) ? value : undefined
}

/** Uses the package's own declaration, then the lock file. */
function managerOf({ names }: Place, manifest: Readonly<Record<string, unknown>>): Manager | undefined {
  const said = manifest['packageManager']
  const named = typeof said === 'string' ? /^(npm|pnpm|yarn|bun)@/.exec(said)?.[1] : undefined
  if (named !== undefined) return named as Manager
  return locks.find(([file]) => names.has(file))?.[1]
}

const locks: readonly (readonly [string, Manager])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['pnpm-workspace.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
]

function managerAbove(above: Found | undefined): Manager | undefined {
  return locks.map(([, manager]) => manager).find((manager) => manager === above?.tool)
}

type Want = Pick<FoundCheck, 'kind' | 'required'> & {
  readonly what: string
  /** Script names of which the first that exists is used. */
  readonly names: readonly string[]
}

const wanted: readonly Want[] = [
  { kind: 'test', what: 'tests', required: true, names: ['test', 'test:ci', 'test:unit'] },
  {
    kind: 'typecheck',
    what: 'types',
    required: false,
    names: ['typecheck', 'type-check', 'check-types', 'check:types', 'types', 'tsc'],
  },
  { kind: 'lint', what: 'lint', required: false, names: ['lint', 'lint:check'] },
]

function checkFor(
  { kind, required, what, names }: Want,
  scripts: Readonly<Record<string, unknown>>,
  manager: Manager,
): FoundCheck[] {
  const name = names.find((one) => Object.hasOwn(scripts, one) && isCheck(scripts[one]))
  if (name === undefined) return []
  return [
    {
      kind,
      description: `The package's ${what}: script ${name}`,
      // `bun test` is bun's own runner, not the script.
      command: name === 'test' && manager !== 'bun' ? `${manager} test` : `${manager} run ${name}`,
      required,
      definition: String(scripts[name]),
    },
  ]
}

/** Excludes the placeholder that `npm init` writes, and scripts that watch for changes. */
function isCheck(script: unknown): boolean {
  return (
    typeof script === 'string' &&
    script.trim() !== '' &&
    !/no test specified/.test(script) &&
    !/(?:^|\s)--watch(?:All)?(?:=true)?(?:\s|$)/.test(script)
  )
}
