import { readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifReadable } from '../if-readable.js'

/**
 * Returns the paths for which an index contains a commit of another repository: submodules, and nested repositories
 * that were added. Empty for an index that git cannot read either.
 */
export function gitlinksOf(indexFile: string): readonly string[] {
  const stat = statSync(indexFile, { throwIfNoEntry: false })
  if (stat === undefined) return []
  const known = cache.get(indexFile)
  const mark = `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`
  if (known?.mark === mark) return known.paths
  const paths = readGitlinks(indexFile)
  if (cache.size > 100) cache.clear()
  cache.set(indexFile, { mark, paths })
  return paths
}

const cache = new Map<string, { readonly mark: string; readonly paths: readonly string[] }>()

function readGitlinks(file: string): string[] {
  const own = entriesOf(file)
  if (own === undefined) return []
  const shared = own.shared === undefined ? undefined : entriesOf(join(dirname(file), own.shared))
  return [...new Set([...own.paths, ...(shared?.paths ?? [])])]
}

type Entries = {
  readonly paths: readonly string[]
  /** The file with the other entries of a split index. */
  readonly shared?: string | undefined
}

function entriesOf(file: string): Entries | undefined {
  const bytes = ifReadable(() => readFileSync(file))
  if (bytes === undefined || bytes.length < 12 || bytes.toString('latin1', 0, 4) !== 'DIRC') return undefined
  const version = bytes.readUInt32BE(4)
  if (version < 2 || version > 4) return undefined
  // The file does not store the length of its object names: SHA-1 is tried first, then SHA-256.
  for (const hashBytes of [20, 32]) {
    const found = walk(bytes, version, hashBytes)
    if (found !== undefined) return found
  }
  return undefined
}

const commitMode = 0o160000
/** Files, links, commits, and the directories of a sparse index. */
const modes = new Set([0o100000, 0o120000, commitMode, 0o040000])
/** Times, device, inode, mode, owner and size come before the object name. */
const statBytes = 40

/** Returns undefined when the entries do not fit: then the object names have another length. */
function walk(bytes: Buffer, version: number, hashBytes: number): Entries | undefined {
  const count = bytes.readUInt32BE(8)
  const paths: string[] = []
  let at = 12
  let previous: Buffer = Buffer.alloc(0)
  for (let entry = 0; entry < count; entry++) {
    const flagsAt = at + statBytes + hashBytes
    if (flagsAt + 2 > bytes.length) return undefined
    const kind = bytes.readUInt32BE(at + 24) & 0o170000
    const extended = (bytes.readUInt16BE(flagsAt) & 0x4000) !== 0
    if (!modes.has(kind) || (extended && version < 3)) return undefined
    const nameAt = flagsAt + (extended ? 4 : 2)
    const [stripped, start] = version === 4 ? variableLength(bytes, nameAt) : [previous.length, nameAt]
    const end = bytes.indexOf(0, start)
    if (end < 0 || stripped > previous.length) return undefined
    const tail = bytes.subarray(start, end)
    previous = Buffer.concat([previous.subarray(0, previous.length - stripped), tail])
    if (kind === commitMode) paths.push(previous.toString('utf8'))
    // Version 4 has no padding; in earlier versions, entries begin at multiples of eight.
    at = version === 4 ? end + 1 : at + Math.floor((end - at) / 8) * 8 + 8
  }
  return { paths, shared: sharedFile(bytes, at, hashBytes) }
}

function variableLength(bytes: Buffer, from: number): [value: number, next: number] {
  let at = from
  let byte = bytes[at++] ?? 0
  let value = byte & 0x7f
  while ((byte & 0x80) !== 0 && at < bytes.length) {
    byte = bytes[at++] ?? 0
    value = (value + 1) * 128 + (byte & 0x7f)
  }
  return [value, at]
}

/** The extension `link` begins with the name of the shared index. */
function sharedFile(bytes: Buffer, from: number, hashBytes: number): string | undefined {
  for (let at = from; at + 8 <= bytes.length - hashBytes; at += 8 + bytes.readUInt32BE(at + 4)) {
    if (bytes.toString('latin1', at, at + 4) === 'link')
      return `sharedindex.${bytes.toString('hex', at + 8, at + 8 + hashBytes)}`
  }
  return undefined
}
