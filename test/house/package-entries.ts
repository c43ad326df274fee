import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { root } from './run.js'
import { parseSource } from './source-tree.js'

type PackageJson = {
  readonly name: string
  readonly version: string
  readonly scripts: Readonly<Record<string, string>>
  readonly bin: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

export const packageJson: PackageJson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** A way into the package that holds code: what users write, and the files that answer. */
export type Entry = {
  readonly specifier: string
  readonly script: string
  readonly types: string
  readonly source: string
}

export const entries: readonly Entry[] = Object.entries(packageJson.exports).flatMap(([subpath, target]) => {
  if (typeof target === 'string') return []
  const script = posix.normalize(target.default)
  return [
    {
      specifier: posix.join(packageJson.name, subpath),
      script,
      types: posix.normalize(target.types),
      source: script.replace(/^dist\//, 'src/').replace(/\.js$/, '.ts'),
    },
  ]
})

/** The sources that users reach: by an import, or as a command. */
export const entrySources: readonly string[] = [
  ...entries.map(({ source }) => source),
  ...Object.values(packageJson.bin).map((script) =>
    posix
      .normalize(script)
      .replace(/^dist\//, 'src/')
      .replace(/\.js$/, '.ts'),
  ),
]

/** Every name that a declaration file exports, through all its re-exports. */
export function declaredExports(path: string, readText: (path: string) => string): string[] {
  const names = new Set<string>()
  const visited = new Set<string>()
  const visit = (file: string, asWell: (name: string) => boolean): void => {
    if (visited.has(file)) return
    visited.add(file)
    for (const { name, from } of parseSource(file, readText(file)).exports) {
      if (name !== '*') {
        if (asWell(name)) names.add(name)
      } else if (from !== undefined) {
        if (!from.specifier.startsWith('.'))
          throw new Error(`${file} exports everything of ${from.specifier}`)
        const target = posix.join(posix.dirname(file), from.specifier).replace(/\.js$/, '.d.ts')
        // `export *` passes everything on but the default.
        visit(target, (inner) => inner !== 'default')
      }
    }
  }
  visit(path, () => true)
  return [...names].sort()
}
