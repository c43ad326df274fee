import { builtInTool } from '../../tool/create-json-tool.js'
import { outputEnvelope } from '../../tool/envelope.js'
import { objectSchema } from '../../tool/object-schema.js'
import type { RuntimeFiles } from '../../tool/runtime.js'
import { pathText } from '../path-text.js'
import { requireService } from '../require-service.js'
import { languageOf } from './languages.js'

export type RepoOverviewArgs = { path?: string; depth?: number }

type LanguageStat = { language: string; files: number; bytes: number; percent: number }

const maxFiles = 20_000
/** The maximum number of files whose sizes are read, one by one. */
const maxMeasured = 5_000
const maxTreeLines = 400
const defaultDepth = 3

/** Returns the tree of a directory and its languages, without files that are denied or that git ignores. */
export const repoOverviewTool = builtInTool<RepoOverviewArgs>({
  name: 'repo_overview',
  description:
    'Show the structure of a repository: its directory tree with file counts, and its languages by size.',
  kind: 'search',
  idempotent: true,
  requires: { fs: { read: ['{workspace}/**'] } },
  parameters: objectSchema({
    'path?': { type: 'string', description: 'A directory; default: the workspace root' },
    'depth?': { type: 'integer', minimum: 1, maximum: 10, description: 'Of the tree; default 3' },
  }),
  touches: ({ path }) => [{ fs: 'read', path: path ?? '.' }],
  async execute({ path = '.', depth = defaultDepth }, context) {
    const { signal } = context
    const found = await requireService(context, 'search').glob({
      pattern: '**/*',
      path,
      limit: maxFiles,
      signal,
    })
    const languages = await languagesOf(found.paths, requireService(context, 'files'), signal)
    const files = found.paths.length
    const tree = treeOf(found.paths, path, depth)
    const cut = found.truncated || found.incomplete !== undefined
    const notes = [
      ...(cut
        ? [`(the first ${files} files only${found.incomplete === undefined ? '' : `: ${found.incomplete}`})`]
        : []),
      ...(files > maxMeasured ? [`(sizes are those of the first ${maxMeasured} files)`] : []),
    ]
    return outputEnvelope(
      { path, files, languages, tree: tree.lines.join('\n'), ...(notes.length > 0 && { notes }) },
      cut || tree.cut ? { partial: true } : {},
    )
  },
})

async function languagesOf(
  paths: readonly string[],
  files: RuntimeFiles,
  signal: AbortSignal | undefined,
): Promise<LanguageStat[]> {
  const found = new Map<string, { files: number; bytes: number }>()
  const sources = paths.flatMap((path) => {
    const language = languageOf(path)
    if (language === undefined) return []
    const stat = found.get(language) ?? { files: 0, bytes: 0 }
    stat.files++
    found.set(language, stat)
    return [{ path, stat }]
  })
  const measured = sources.slice(0, maxMeasured)
  for (let at = 0; at < measured.length && signal?.aborted !== true; at += 64)
    await Promise.all(
      measured.slice(at, at + 64).map(async ({ path, stat }) => {
        // A file that was removed meanwhile, or must not be accessed, counts as 0 bytes.
        const size = await files.stat(path).then(
          (found) => found.size,
          () => 0,
        )
        stat.bytes += size
      }),
    )
  const all = [...found.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  return [...found]
    .map(([language, stat]) => ({
      language,
      ...stat,
      percent: all === 0 ? 0 : Math.round((stat.bytes / all) * 1000) / 10,
    }))
    .sort((a, b) => b.bytes - a.bytes || b.files - a.files || a.language.localeCompare(b.language, 'en'))
}

type Folder = { readonly folders: Map<string, Folder>; readonly files: string[]; count: number }

function treeOf(paths: readonly string[], base: string, depth: number): { lines: string[]; cut: boolean } {
  const root: Folder = { folders: new Map(), files: [], count: 0 }
  const prefix = base === '.' ? '' : `${base.replace(/^\.\//, '').replace(/\/+$/, '')}/`
  for (const path of paths) {
    const names = (path.startsWith(prefix) ? path.slice(prefix.length) : path).split('/')
    let folder = root
    folder.count++
    for (const name of names.slice(0, -1)) {
      const inner: Folder = folder.folders.get(name) ?? { folders: new Map(), files: [], count: 0 }
      folder.folders.set(name, inner)
      inner.count++
      folder = inner
    }
    folder.files.push(names.at(-1) ?? '')
  }
  const lines: string[] = []
  let cut = false
  const draw = (folder: Folder, level: number): void => {
    const indent = '  '.repeat(level)
    const put = (line: string): void => {
      if (lines.length < maxTreeLines) lines.push(line)
      else cut = true
    }
    for (const [name, inner] of [...folder.folders].sort(([a], [b]) => a.localeCompare(b, 'en'))) {
      put(`${indent}${pathText(name)}/ (${inner.count} files)`)
      if (level + 1 < depth) draw(inner, level + 1)
    }
    for (const name of [...folder.files].sort((a, b) => a.localeCompare(b, 'en')))
      put(`${indent}${pathText(name)}`)
  }
  draw(root, 0)
  if (cut) lines.push(`... (more than ${maxTreeLines} entries: give a path or a smaller depth)`)
  return { lines, cut }
}
