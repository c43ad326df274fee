import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CapstanError } from '../../../src/tool/errors.js'
import { propertyRuns } from '../../support/property-runs.js'
import { createScene, type Scene } from './fixture.js'

const memory = existsSync('/dev/shm') ? '/dev/shm' : undefined

type Planted = { readonly path: string; readonly link?: string }

const name = fc.constantFrom('a', 'b', 'c', 'd')
const route = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
const readTargets = [
  '.',
  '..',
  '../..',
  '../outside',
  '../../outside/C',
  '../W-evil',
  '../W-evil/x',
  'W!/a',
  'O!',
  'O!/C',
]
// Where things are moved, a link that climbs could climb further from its new place. Absolute ones end where they
// point: were containment broken, the test would fail without harm to the machine it runs on.
const writeTargets = ['.', 'W!', 'W!/a', 'W!/a/b', 'B!', 'E!', 'E!/x', 'O!', 'O!/C', 'O!/new']
const planted = (targets: readonly string[]): fc.Arbitrary<Planted[]> =>
  fc.array(
    fc.oneof(
      route.map((path) => ({ path })),
      fc.record({ path: route, link: fc.oneof(route, fc.constantFrom(...targets)) }),
    ),
    { minLength: 1, maxLength: 14 },
  )
const asked = fc.array(fc.oneof(name, name, fc.constantFrom('..', '.', 'C', 'x', 'outside')), {
  minLength: 1,
  maxLength: 6,
})

describe.each(['handle', 'compare'] as const)('random trees with links, by %s', (wanted) => {
  const method = process.platform === 'linux' ? wanted : 'compare'

  it('reads agree with the real path, and nothing from outside is ever returned', {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        planted(readTargets),
        fc.array(asked, { minLength: 5, maxLength: 15 }),
        async (plan, paths) => {
          const scene = createScene(memory)
          plant(scene, plan)
          const files = scene.files({ method })
          for (const path of paths.map((names) => names.join('/'))) {
            const truth = insideFile(scene.workspace, path)
            const seen = await files.readText(path).catch(ours)
            if (truth === undefined) expect(seen, path).toBeInstanceOf(CapstanError)
            else expect(seen, path).toBe(truth)
          }
          rmSync(scene.workspace, { recursive: true })
          mkdirSync(scene.workspace)
        },
      ),
      { numRuns: propertyRuns(150) },
    )
  })

  it('writing, moving and removing change nothing outside', async () => {
    await fc.assert(
      fc.asyncProperty(
        planted(writeTargets),
        fc.array(fc.tuple(asked, asked), { minLength: 5, maxLength: 12 }),
        async (plan, pairs) => {
          const scene = createScene(memory)
          plant(scene, plan)
          const files = scene.files({ method })
          for (const [to, from] of pairs) {
            await files.write(to.join('/'), 'written').catch(ours)
            await files.move(from.join('/'), to.join('/')).catch(ours)
            await files.remove(from.join('/')).catch(ours)
            expect(readFileSync(scene.canary, 'utf8')).toMatch(/^canary/)
            expect(readFileSync(join(scene.base, 'W-evil', 'x'), 'utf8')).toMatch(/^canary/)
          }
          // The rest of what must hold is checked after the test, for every scene: no file more, none less.
        },
      ),
      { numRuns: propertyRuns(100) },
    )
  })
})

function ours(thrown: unknown): CapstanError {
  if (thrown instanceof CapstanError) return thrown
  throw thrown
}

/** Makes the tree name by name and never through a link: the fixture must not do what the test forbids. */
function plant(scene: Scene, plan: readonly Planted[]): void {
  for (const { path, link } of plan) {
    const at = join(scene.workspace, path)
    if (!makeParents(scene.workspace, path) || lstatSync(at, { throwIfNoEntry: false }) !== undefined)
      continue
    if (link === undefined) writeFileSync(at, `content of ${path}`, { flag: 'wx' })
    else symlinkSync(placed(scene, link), at)
  }
}

function placed(scene: Scene, link: string): string {
  const places = { W: scene.workspace, O: scene.outside, B: scene.base, E: join(scene.base, 'W-evil') }
  return link.replace(/^([WOBE])!/, (_, place: keyof typeof places) => places[place])
}

function makeParents(workspace: string, path: string): boolean {
  let at = workspace
  for (const part of path.split('/').slice(0, -1)) {
    at = join(at, part)
    const stat = lstatSync(at, { throwIfNoEntry: false })
    if (stat === undefined) mkdirSync(at)
    else if (!stat.isDirectory()) return false
  }
  return true
}

/** The truth by other means: dots by text, then the real path. */
function insideFile(workspace: string, path: string): string | undefined {
  const absolute = join(workspace, path)
  if (!`${absolute}/`.startsWith(`${workspace}/`)) return undefined
  try {
    const real = realpathSync.native(absolute)
    return real.startsWith(`${workspace}/`) && statSync(real).isFile()
      ? readFileSync(real, 'utf8')
      : undefined
  } catch {
    return undefined
  }
}
