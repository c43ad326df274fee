import { omitUndefined } from '../../tool/omit-undefined.js'
import { goKind, makeKind, pythonKind, rustKind } from './languages.js'
import { nodeKind } from './node.js'
import {
  type Found,
  type FoundCheck,
  type Kind,
  type Listing,
  maxManifestBytes,
  type Place,
  type PresetCommand,
  type VerificationPreset,
} from './project.js'

const kinds: readonly Kind[] = [nodeKind, rustKind, pythonKind, goKind, makeKind]

/** The maximum depth and number of directories that are searched for projects, to keep the search fast. */
const deepest = 3
const maxDirectories = 400
const maxPresets = 50

/**
 * Finds the checks that a workspace defines. A nested project is listed only if no project of the same kind above it
 * has checks: the checks at the top of a repository cover what is in it.
 */
export function findPresets(listing: Listing): VerificationPreset[] {
  const presets: VerificationPreset[] = []
  let waiting: { readonly path: string; readonly depth: number; readonly above: Above }[] = [
    { path: '', depth: 0, above: new Map() },
  ]
  let looked = 0
  // Breadth first: projects near the top are found before the limit is reached.
  while (waiting.length > 0) {
    const next: typeof waiting = []
    for (const { path, depth, above } of waiting) {
      if (looked++ >= maxDirectories || presets.length >= maxPresets) return presets
      const names = listing.names(path === '' ? '.' : path)
      const place = placeAt(listing, path, names)
      const here = new Map(above)
      for (const kind of kinds) {
        const over = above.get(kind.id)
        const found = kind.find(place, over)
        if (found === undefined) continue
        if (over === undefined || over.checks.length === 0) {
          here.set(kind.id, found)
          if (found.checks.length > 0) presets.push(presetOf(kind, path, found))
        }
      }
      if (depth < deepest)
        for (const name of names)
          if (name.endsWith('/') && !isLeftOut(name))
            next.push({ path: join(path, name.slice(0, -1)), depth: depth + 1, above: here })
    }
    waiting = next.sort((a, b) => (a.path < b.path ? -1 : 1))
  }
  return presets
}

type Above = ReadonlyMap<Kind['id'], Found>

/** The presets to run by default: a makefile only if nothing else has tests, because it usually calls those. */
export function defaultPresets(presets: readonly VerificationPreset[]): VerificationPreset[] {
  return presets.filter(
    ({ name, cwd }) =>
      name !== 'make' ||
      !presets.some(
        (other) =>
          other.name !== 'make' && other.cwd === cwd && other.commands.some(({ kind }) => kind === 'test'),
      ),
  )
}

function placeAt(listing: Listing, path: string, names: readonly string[]): Place {
  const known = new Set(names)
  return {
    names: known,
    text: (name) => (known.has(name) ? listing.text(join(path, name), maxManifestBytes) : undefined),
    list: (name) => (known.has(`${name}/`) ? listing.names(join(path, name)) : []),
  }
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}/${name}`
}

/** Directories with third-party or generated code. */
function isLeftOut(name: string): boolean {
  return name.startsWith('.') || leftOut.has(name.slice(0, -1))
}

const leftOut: ReadonlySet<string> = new Set([
  'node_modules',
  'vendor',
  'target',
  'dist',
  'build',
  'out',
  'coverage',
  'venv',
  'env',
  '__pycache__',
  'third_party',
  'testdata',
  'fixtures',
])

function presetOf(kind: Kind, path: string, { tool, checks }: Found): VerificationPreset {
  const place = path === '' ? '' : `:${path}`
  const used = new Set<string>()
  return {
    id: `${kind.id}-default${place}`,
    name: kind.id,
    description: `What the ${kind.id} project${path === '' ? '' : ` in ${path}`} offers, with ${tool}`,
    ...(path !== '' && { cwd: path }),
    commands: checks.map((check) => commandOf(kind, path, check, used)),
  }
}

function commandOf(kind: Kind, path: string, check: FoundCheck, used: Set<string>): PresetCommand {
  const first = `${kind.id}-${check.kind}${path === '' ? '' : `:${path}`}`
  const id = used.has(first) ? `${first}-${used.size + 1}` : first
  used.add(id)
  const { description, command, required, definition } = check
  return {
    id,
    kind: check.kind,
    description,
    command,
    required,
    timeoutMs: check.kind === 'test' ? 600_000 : 300_000,
    ...(path !== '' && { cwd: path }),
    ...omitUndefined({ definition }),
  }
}
