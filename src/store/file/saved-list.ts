import { join } from 'node:path'
import { isRecord } from '../../tool/json.js'
import { randomId } from '../../workspace/random-id.js'
import type { SessionInfo } from '../session-store.js'
import { readWhole } from './blob-files.js'
import { createNew, type FileFacts, type FileLayer, removeIfThere, writeAll } from './file-layer.js'

/** The name of the saved list, and the prefix of the names of its temporary files. */
export const savedListName = '.list.json'

/** The listed information about a session, and the log that it was read from. */
export type ListedSession = LogFacts & { readonly info: SessionInfo }

/** Identifies the content of a log: logs are only appended to, or replaced by a new file. */
export type LogFacts = Pick<FileFacts, 'size' | 'mtimeMs' | 'identity'>

/** Listed sessions by the name of their directory. */
export type ListedSessions = Map<string, ListedSession>

/**
 * Reads the list that a process saved. Every entry is compared with its log before it is used, so the file can be
 * missing, old or damaged: then the logs are read again.
 */
export function readSavedList(files: FileLayer, directory: string): ListedSessions {
  const listed: ListedSessions = new Map()
  try {
    const bytes = readWhole(files, join(directory, savedListName))
    const saved: unknown = bytes === undefined ? {} : JSON.parse(new TextDecoder().decode(bytes))
    if (!isRecord(saved) || saved['version'] !== version || !Array.isArray(saved['sessions'])) return listed
    for (const entry of saved['sessions']) if (isEntry(entry)) listed.set(entry.name, entry)
  } catch {
    // The file is not readable or not complete.
  }
  return listed
}

/** Saves a list for other processes. */
export function saveList(files: FileLayer, directory: string, listed: ListedSessions): void {
  const draft = join(directory, `${savedListName}-${randomId()}`)
  const sessions = Array.from(listed, ([name, one]) => ({ ...one, name }))
  const fd = files.open(draft, createNew)
  try {
    writeAll(files, fd, Buffer.from(JSON.stringify({ version, sessions })), 0)
    files.rename(draft, join(directory, savedListName))
  } catch (error) {
    files.unlink(draft)
    throw error
  } finally {
    files.close(fd)
  }
}

/**
 * Removes the saved list, because it contains titles and labels of sessions that were deleted or are being rewritten.
 */
export function removeSavedList(files: FileLayer, directory: string): void {
  removeIfThere(files, join(directory, savedListName))
}

const version = 1

function isEntry(value: unknown): value is ListedSession & { readonly name: string } {
  if (!isRecord(value) || !isRecord(value['info'])) return false
  const { name, size, mtimeMs, identity, info } = value
  return (
    typeof name === 'string' &&
    typeof size === 'number' &&
    typeof mtimeMs === 'number' &&
    typeof identity === 'string' &&
    typeof info['id'] === 'string'
  )
}
