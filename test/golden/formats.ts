import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import type { SessionRecord } from '../../src/store/records.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { openDatabase } from '../../src/store/sqlite/driver.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { isRecord } from '../../src/tool/json.js'
import {
  type Places,
  writeExport,
  writeFileSessions,
  writeMemories,
  writeRules,
  writeSchedule,
  writeSqliteSessions,
} from './writers.js'

/** Something that one version stores and a later version reads. */
export type Format = {
  readonly name: string
  write(places: Places): Promise<void>
  /** The version that the files in a directory have. */
  versionOf(directory: string): Promise<number>
  /** The structure of the files in a directory, without their values: one line per fact, sorted. */
  shapeOf(directory: string): Promise<string[]>
}

/** Files that people read and edit have no version number in them. */
const plainTextVersion = 1

export const formats: readonly Format[] = [
  {
    name: 'session-file',
    write: writeFileSessions,
    versionOf: (directory) => recordedVersion(new FileSessionStore(directory)),
    shapeOf: async (directory) => [
      ...namesIn(directory),
      ...linesIn(directory).map((line) => `line: ${Object.keys(line).sort().join(' ')}`),
      ...textsIn(directory, /^lease/).flatMap((text) => fieldsOf('lease', JSON.parse(text), 1)),
      ...(await recordShapes(new FileSessionStore(directory))),
    ],
  },
  {
    name: 'session-sqlite',
    write: writeSqliteSessions,
    versionOf: async (directory) => Number(inDatabase(directory, 'PRAGMA user_version')[0]?.['user_version']),
    shapeOf: async (directory) => {
      const store = new SqliteSessionStore(join(directory, 'sessions.db'))
      try {
        const tables = inDatabase(directory, 'SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL')
        return [
          ...tables.map(({ sql }) => String(sql).replace(/--.*/g, '').replace(/\s+/g, ' ')),
          ...(await recordShapes(store)),
        ]
      } finally {
        await store.close()
      }
    },
  },
  {
    name: 'session-export',
    write: writeExport,
    versionOf: async (directory) => {
      const [first] = linesIn(directory)
      return isRecord(first?.['data']) ? Number(first['data']['schemaVersion']) : Number.NaN
    },
    shapeOf: async (directory) =>
      linesIn(directory).flatMap((line) => fieldsOf(String(line['type']), line['data'], 1)),
  },
  {
    name: 'memory',
    write: writeMemories,
    versionOf: async () => plainTextVersion,
    shapeOf: async (directory) =>
      textsIn(directory).flatMap((text) => {
        const [, front = '', after = ''] = /^---\n([\s\S]*?)\n---\n(\n?)/.exec(text) ?? []
        const fields = front.split('\n').map((line) => `field: ${/^\w+/.exec(line)?.[0] ?? line}`)
        return [...fields, `blank line after the fields: ${after === '\n'}`]
      }),
  },
  {
    name: 'rules',
    write: writeRules,
    versionOf: async () => plainTextVersion,
    shapeOf: async (directory) => [
      ...namesIn(directory),
      ...textsIn(directory).flatMap((text) =>
        text.split('\n').map((line) => line.replace(/(# Rules for ).*?(\. One a line)/, '$1…$2')),
      ),
    ],
  },
  {
    name: 'schedule',
    write: writeSchedule,
    versionOf: (directory) => recordedVersion(new FileSessionStore(directory)),
    shapeOf: async (directory) => recordShapes(new FileSessionStore(directory)),
  },
]

const golden = join('test', 'golden')

/** The golden directories of a format, the oldest first: `v1`, and `v1.1` where a later release added fields. */
export function versionsOf({ name }: Format): string[] {
  const directory = join(golden, name)
  if (!existsSync(directory)) return []
  return readdirSync(directory).toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
}

export function goldenDirectory({ name }: Format, version: string): string {
  return join(golden, name, version)
}

/** The shape as a set: how often a kind of record occurs is not part of the format. */
export async function shapeIn(format: Format, directory: string): Promise<string[]> {
  return [...new Set(await format.shapeOf(directory))].sort()
}

async function recordedVersion(store: SessionStore): Promise<number> {
  const versions = (await allRecords(store)).flatMap((record) =>
    record.type === 'session' ? [record.data.schemaVersion] : [],
  )
  return Math.max(...versions)
}

async function recordShapes(store: SessionStore): Promise<string[]> {
  return (await allRecords(store)).flatMap((record) => fieldsOf(kindOf(record), record.data, 1))
}

async function allRecords(store: SessionStore): Promise<SessionRecord[]> {
  const sessions = await store.list()
  const logs = await Promise.all(sessions.map(({ id }) => store.read(id)))
  return logs.flatMap((log) => [...(log?.records ?? [])])
}

function kindOf(record: SessionRecord): string {
  if (record.type === 'part') return `part ${record.data.content.type}`
  if (record.type !== 'run_event') return record.type
  return `run_event ${isRecord(record.data.event) ? record.data.event['type'] : '?'}`
}

/** Every field of a record and of the objects in it, with its type; what lies deeper belongs to tools and models. */
function fieldsOf(path: string, value: unknown, depth: number): string[] {
  if (!isRecord(value))
    return [`${path}: ${value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value}`]
  if (depth < 0) return [`${path}: object`]
  return Object.entries(value).flatMap(([key, inner]) => fieldsOf(`${path}.${key}`, inner, depth - 1))
}

function inDatabase(directory: string, sql: string): readonly Readonly<Record<string, unknown>>[] {
  const database = openDatabase(join(directory, 'sessions.db'))
  try {
    return database.prepare(sql).all()
  } finally {
    database.close()
  }
}

/** Names of files, with everything that is a digest, an id or a number of a session left out. */
function namesIn(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
  return names
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `file: ${join(parentPath.slice(directory.length), name)}`)
    .map((name) =>
      name.replace(/[0-9a-f]{32,}/g, '<digest>').replace(/^(file: \/?)[^/]+\/(?=log|blobs)/, '$1<id>/'),
    )
}

function linesIn(directory: string): Record<string, unknown>[] {
  return textsIn(directory, /\.jsonl$/).flatMap((text) =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line)),
  )
}

function textsIn(directory: string, fits = /^/): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && fits.test(entry.name))
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
}
