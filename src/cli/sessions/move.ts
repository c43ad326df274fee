import { createReadStream, createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import { systemClock } from '../../loop/host-env.js'
import { exportSession } from '../../store/export-session.js'
import { importSession } from '../../store/import-session.js'
import type { Args } from '../args.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { safeJsonText, safeLine } from '../terminal/safe-text.js'
import { findSession, openSessionStore } from './open-session-store.js'

/** A session as lines of JSON, on standard output or into a new file. */
export async function exportCommand(args: Args, io: Io): Promise<number> {
  const { store } = await openSessionStore(args, io)
  const id = await findSession(store, args.positionals[0])
  const out = args.value('out')
  // Others must not read what was said; a file that is there is somebody's.
  const file =
    out === undefined ? undefined : createWriteStream(resolve(io.cwd, out), { flags: 'wx', mode: 0o600 })
  const failed =
    file === undefined ? undefined : new Promise<never>((_, reject) => file.once('error', reject))
  const writing = (async () => {
    for await (const line of exportSession(store, id)) await write(file ?? io.stdout, safeJsonText(line))
    if (file !== undefined) await finished(file.end())
  })()
  await (failed === undefined ? writing : Promise.race([writing, failed]))
  await store.close?.()
  if (out !== undefined) await write(io.stderr, `${safeLine(id)} is in ${safeLine(out)}.\n`)
  return exitCodes.done
}

/** Takes such lines into the store. They bring no permissions unless they are trusted. */
export async function importCommand(args: Args, io: Io): Promise<number> {
  const from = args.positionals[0]
  if (from === undefined) throw new UsageError('Which file? Give its path, or - for standard input.')
  if (from === '-' && io.isTTY.stdin)
    throw new UsageError('Nothing is piped in.', 'Write: capstan sessions import FILE')
  const { store, workspace } = await openSessionStore(args, io)
  const source = from === '-' ? io.stdin : createReadStream(resolve(io.cwd, from))
  source.setEncoding('utf8')
  const id = args.value('id')
  const taken = await importSession(store, source, {
    ...(id !== undefined && { id }),
    // Where it goes on is for the one who takes it to say, not for the file.
    ...((args.has('directory') || !args.has('trusted')) && { workspace }),
    trusted: args.has('trusted'),
    now: () => systemClock.now(),
  })
  await store.close?.()
  await write(io.stdout, `${safeLine(taken.id)}\n`)
  const leftOut = Object.entries(taken.leftOut).map(([what, count]) => `${count} ${what}`)
  if (leftOut.length > 0)
    await write(io.stderr, `Left out, since the file is not trusted: ${safeLine(leftOut.join(', '))}.\n`)
  for (const note of taken.notes) await write(io.stderr, `note: ${safeLine(note, 400)}\n`)
  return exitCodes.done
}
