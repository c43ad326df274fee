import type { ToolCallContext } from '../tool/contract.js'
import { CapstanError } from '../tool/errors.js'
import { nearestNames } from '../tool/nearest.js'
import type { DirectoryEntry, RuntimeFiles, ToolRuntime } from '../tool/runtime.js'
import { pathText } from './path-text.js'

/** Awaits a file operation. If the path does not exist, throws an error that names similar paths. */
export async function orDescribeMissing<T>(
  { runtime, signal }: ToolCallContext,
  path: string,
  asked: Promise<T>,
): Promise<T> {
  try {
    return await asked
  } catch (thrown) {
    const files = runtime?.files
    if (files === undefined || whyNot(thrown) !== 'file_not_found') throw thrown
    throw new CapstanError('file_not_found', await describeMissing({ ...runtime, files }, path, signal))
  }
}

/**
 * Returns the text for a missing path: the nearest names, other places of the same name, or the directory's entries.
 */
async function describeMissing(
  runtime: ToolRuntime & { readonly files: RuntimeFiles },
  path: string,
  signal?: AbortSignal,
): Promise<string> {
  const missing = `There is no file or directory at ${pathText(path)}.`
  const nearest = await nearestDirectory(runtime.files, path)
  if (nearest === undefined) return `${missing} List its directory or search for the name.`
  const { directory, name, rest, entries } = nearest
  const names = entries.map((entry) => entry.name)
  const near = nearestNames(name, names).map((found) => join(directory, found, rest))
  if (near.length > 0) return `${missing} Did you mean ${alternatives(near)}?`
  const elsewhere = await sameNameElsewhere(runtime, path, signal)
  if (elsewhere.length > 0) return `${missing} Did you mean ${alternatives(elsewhere)}?`
  const gone = rest === '' ? missing : `${missing} ${pathText(join(directory, name))} does not exist either.`
  return `${gone} ${describeEntries(directory, entries)}`
}

/** Returns a sentence such as `src holds a.ts, lib/ and 3 more.` */
export function describeEntries(directory: string, entries: readonly DirectoryEntry[]): string {
  const where = directory === '.' ? 'The workspace root' : pathText(directory)
  if (entries.length === 0) return `${where} is empty.`
  const shown = entries.slice(0, maxNamed).map(entryText)
  const more = entries.length - shown.length
  return `${where} holds ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`
}

export function entryText({ name, kind }: DirectoryEntry): string {
  return pathText(kind === 'directory' ? `${name}/` : name)
}

const maxNamed = 12
const maxElsewhere = 3

type Nearest = {
  readonly directory: string
  /** The first name in the path that does not exist. */
  readonly name: string
  /** The rest of the path after it. */
  readonly rest: string
  readonly entries: readonly DirectoryEntry[]
}

async function nearestDirectory(files: RuntimeFiles, path: string): Promise<Nearest | undefined> {
  const absolute = path.startsWith('/')
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  for (let known = names.length - 1; known >= 0; known--) {
    const above = names.slice(0, known).join('/')
    const directory = absolute ? `/${above}` : above || '.'
    const entries = await files.list(directory).catch(whyNot)
    if (Array.isArray(entries)) {
      const name = names[known] ?? ''
      return { directory, name, rest: names.slice(known + 1).join('/'), entries }
    }
    // This directory is missing too: try the one above. Any other error (outside, not permitted) ends the search.
    if (entries !== 'file_not_found') return undefined
  }
  return undefined
}

/** Returns the code of an error. An error while a hint is computed must not fail the call. */
function whyNot(thrown: unknown): string {
  return thrown instanceof CapstanError ? thrown.code : 'unknown'
}

async function sameNameElsewhere(
  { search }: ToolRuntime,
  path: string,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const name = path.split('/').at(-1) ?? ''
  if (search === undefined || !/^[\w.-]+$/.test(name) || name.startsWith('.')) return []
  const request = { pattern: `**/${name}`, limit: maxElsewhere, signal }
  const found = await search.glob(request).catch(() => undefined)
  return found?.paths ?? []
}

function join(...parts: readonly string[]): string {
  return parts
    .filter((part) => part !== '' && part !== '.')
    .join('/')
    .replace(/^\/\//, '/')
}

function alternatives(paths: readonly string[]): string {
  const texts = paths.map(pathText)
  if (texts.length < 2) return texts.join('')
  return `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`
}
