import { createReadStream, createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import { systemClock } from '../../loop/host-env.js'
import { exportSession } from '../../store/export-session.js'
import { importSession } from '../../store/import-session.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Args } from '../args.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { safeJsonText, safeLine } from '../terminal/safe-text.js'
import { findSession, openSessionStore } from './open-session-store.js'

/** Writes a session as lines of JSON, to standard output or to a new file. */
export async function exportCommand(args: Args, io: Io): Promise<number> {
  const { store } = await openSessionStore(args, io)
  const id = await findSession(store, args.positionals[0])
  const out = args.value('out')
  // The file is private to the user, and an existing file is not overwritten.
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
  if (out !== undefined) await write(io.stderr, `Exported ${safeLine(id)} to ${safeLine(out)}.\n`)
  return exitCodes.done
}

/** Reads a session from exported lines of JSON. Its permissions are dropped unless the lines are trusted. */
export async function importCommand(args: Args, io: Io): Promise<number> {
  const from = args.required(0, 'FILE', 'Give a path, or - for standard input.')
  if (from === '-' && io.isTTY.stdin)
    throw new UsageError('Standard input is a terminal.', 'Usage: capstan sessions import FILE')
  const { store, workspace } = await openSessionStore(args, io)
  const source = from === '-' ? io.stdin : createReadStream(resolve(io.cwd, from))
  source.setEncoding('utf8')
  const imported = await importSession(
    store,
    source,
    omitUndefined({
      id: args.value('id'),
      // Only a trusted file can set the directory of the session.
      workspace: args.has('directory') || !args.has('trusted') ? workspace : undefined,
      trusted: args.has('trusted'),
      now: () => systemClock.now(),
    }),
  )
  await store.close?.()
  await write(io.stdout, `${safeLine(imported.id)}\n`)
  const leftOut = Object.entries(imported.leftOut).map(([what, count]) => `${count} ${what}`)
  if (leftOut.length > 0)
    await write(
      io.stderr,
      `Not imported, because the file is not trusted: ${safeLine(leftOut.join(', '))}.\n`,
    )
  for (const note of imported.notes) await write(io.stderr, `note: ${safeLine(note, 400)}\n`)
  return exitCodes.done
}
