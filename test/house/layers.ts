import { posix } from 'node:path'
import { resolveRelative, type SourceFile } from './source-tree.js'

/** The layer of each folder of `src/`: a folder imports from the layers below its own, and from itself. */
export const layers: Readonly<Record<string, number>> = {
  tool: 1,
  authority: 2,
  workspace: 3,
  store: 4,
  // Runs that wait for a worker: above the store that it is saved in, below the databases that implement it.
  'run-queue': 4.5,
  model: 4,
  postgres: 5,
  toolbox: 5,
  program: 5,
  loop: 6,
  // Between two layers: what a feature is, above the loop and below the features.
  feature: 6.5,
  skills: 7,
  memory: 7,
  hooks: 7,
  commands: 7,
  mcp: 7,
  queue: 7,
  verify: 7,
  goals: 7,
  subagents: 7,
  supervise: 7,
  objects: 7,
  telemetry: 7,
  session: 8,
  agent: 9,
  cluster: 9.5,
  acp: 10,
  server: 10,
  client: 10,
  inspect: 10,
  testing: 10,
  // It runs the server.
  cli: 11,
}

/** What breaks the order of the layers, in words; type-only imports count, since they tie two folders together too. */
export function layerProblems(files: readonly SourceFile[]): string[] {
  const known = new Set(files.map(({ path }) => path))
  const unknown = [...new Set(files.map(({ path }) => folderOf(path)))].filter(
    (folder) => folder !== undefined && !Object.hasOwn(layers, folder),
  )
  return [
    ...unknown.map((folder) => `src/${folder}/ has no layer: give it one in test/house/layers.ts`),
    ...files.flatMap((file) =>
      file.references.flatMap(({ specifier }) => linkProblem(file, specifier, known)),
    ),
    ...files
      .filter(({ path, onlyReexports }) => folderOf(path) === undefined && !onlyReexports)
      .map(
        ({ path }) =>
          `${path} is outside every folder, so it may only re-export: move its code into a folder`,
      ),
  ]
}

/**
 * Files of `session/` that know features by name: the list of features, what a host sees of a session, and what it
 * gives to one. Everything else in the folder is the kernel, which calls features through `SessionFeature`.
 */
const knowsFeatures: ReadonlySet<string> = new Set([
  'src/session/features.ts',
  'src/session/index.ts',
  'src/session/options.ts',
  'src/session/serve-mcp.ts',
  'src/session/session.ts',
  'src/session/setup.ts',
])

/** What the kernel may use of the folders of features: functions without state. */
const pureParts: ReadonlySet<string> = new Set(['src/verify/summary.ts'])

/** Imports of the session's kernel from the folders of features, which are all on one layer. */
export function kernelProblems(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => folderOf(path) === 'session' && !knowsFeatures.has(path))
    .flatMap(({ path, references }) =>
      references.flatMap(({ specifier }) => {
        const target = resolveRelative(path, specifier)
        const folder = target === undefined ? undefined : folderOf(target)
        if (target === undefined || folder === undefined || layers[folder] !== layers['hooks']) return []
        return pureParts.has(target)
          ? []
          : [`${path} imports ${target}: the kernel calls features through SessionFeature`]
      }),
    )
}

function linkProblem({ path }: SourceFile, specifier: string, known: ReadonlySet<string>): string[] {
  const target = resolveRelative(path, specifier)
  if (target === undefined) return []
  if (!known.has(target)) return [`${path} imports ${specifier}, which is not a source file of src/`]
  const [from, to] = [folderOf(path), folderOf(target)]
  if (from === undefined || from === to) return []
  if (to === undefined)
    return [`${path} imports ${target}: entry files are for users of the package, not for its own code`]
  const [lower, upper] = [layers[from], layers[to]]
  // A folder without a layer is reported once, not for each of its imports.
  if (lower === undefined || upper === undefined || upper < lower) return []
  const where = upper === lower ? `the same layer ${lower}` : `layer ${upper}, above its own layer ${lower}`
  return [`${path} imports ${target} from ${where}: a folder imports only from layers below`]
}

/** The folder directly in `src/` that a file belongs to; undefined for an entry file. */
function folderOf(path: string): string | undefined {
  const parts = path.split(posix.sep)
  return parts.length > 2 ? parts[1] : undefined
}

/** Rings of files that load each other, each written as `a -> b -> a`. Types load nothing, so they close no ring. */
export function importCycles(files: readonly SourceFile[]): string[] {
  const targets = new Map(files.map((file) => [file.path, loadedBy(file)]))
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const seenAt = trail.indexOf(path)
    if (seenAt >= 0) found.push([...trail.slice(seenAt), path].join(' -> '))
    if (seenAt >= 0 || done.has(path)) return
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const { path } of files) visit(path, [])
  return found
}

function loadedBy({ path, references }: SourceFile): string[] {
  const loaded = references.filter(({ typeOnly }) => !typeOnly)
  return [...new Set(loaded.flatMap(({ specifier }) => resolveRelative(path, specifier) ?? []))]
}
