import type { MemoryItem, MemoryStore } from '../../memory/index.js'
import { runAction } from '../actions.js'
import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { placeFlags } from '../setup/session-flags.js'
import { colorsFor } from '../terminal/colors.js'
import { safeJson, safeLine, safeText } from '../terminal/safe-text.js'
import { timeText } from '../terminal/time-text.js'

export const command: Command = {
  usage: ['[list] [--json]', 'show ID', 'forget ID …'],
  description: `Memories are Markdown files in the directory memory_dir of the configuration. Each names its origin: a note of a model has the session
and the run that saved it. A memory is data for later prompts and never an instruction.`,
  actions: {
    list: 'List the memories, newest first',
    show: 'Print one memory with its origin',
    forget: 'Delete memories by their ids',
  },
  options: [{ name: 'json', summary: 'Print one JSON object per line' }, ...placeFlags],
  examples: [
    { line: 'capstan memory', comment: 'List what agents remember here' },
    { line: 'capstan memory forget ID', comment: 'Delete one of them' },
  ],
  exitCodes: { 0: 'success', 1: 'no such memory, or no memory is configured' },
  run: (args, io) =>
    runAction(
      {
        list: async () => listMemories,
        show: async () => showMemory,
        forget: async () => forgetMemories,
      },
      args,
      io,
    ),
}

async function listMemories(args: Args, io: Io): Promise<number> {
  const store = await openMemory(args, io)
  if (store === undefined) return exitCodes.failed
  const items = [...(await store.list()).values()].sort((a, b) => b.createdAtMs - a.createdAtMs)
  const { bold, dim } = colorsFor(io, 'stdout')
  for (const item of items)
    await write(
      io.stdout,
      args.has('json')
        ? `${safeJson(item)}\n`
        : `${bold(safeLine(item.id, 200))}  ${dim(timeText(item.createdAtMs))}  ${dim(originOf(item))}  ${safeLine(item.content, 100)}\n`,
    )
  for (const problem of store.problems?.() ?? [])
    await write(io.stderr, `warning: ${safeLine(problem, 500)}\n`)
  if (items.length === 0) await write(io.stderr, 'No memories.\n')
  return exitCodes.done
}

async function showMemory(args: Args, io: Io): Promise<number> {
  const [id] = idsOf(args)
  const store = await openMemory(args, io)
  if (store === undefined || id === undefined) return exitCodes.failed
  const item = (await store.list()).get(id)
  if (item === undefined) return missing(id, io)
  if (args.has('json')) await write(io.stdout, `${safeJson(item)}\n`)
  else {
    const tags = item.tags.map((tag) => safeLine(tag, 200)).join(', ')
    await write(
      io.stdout,
      `id: ${safeLine(item.id, 200)}\ncreated: ${timeText(item.createdAtMs)}\norigin: ${originOf(item)}\ntags: ${tags}\n\n${safeText(item.content)}\n`,
    )
  }
  return exitCodes.done
}

async function forgetMemories(args: Args, io: Io): Promise<number> {
  const ids = idsOf(args)
  const store = await openMemory(args, io)
  if (store === undefined) return exitCodes.failed
  let code: number = exitCodes.done
  for (const id of ids) {
    if (await store.delete(id)) await write(io.stdout, `deleted: ${safeLine(id, 200)}\n`)
    else code = await missing(id, io)
  }
  return code
}

function idsOf(args: Args): readonly string[] {
  if (args.positionals.length === 0) throw new UsageError('Missing argument: ID')
  return args.positionals
}

async function missing(id: string, io: Io): Promise<number> {
  await write(io.stderr, `No memory "${safeLine(id, 200)}". "capstan memory" lists them.\n`)
  return exitCodes.failed
}

/** Describes the origin of a memory: a model with its session and run, a finished run, or a person or host. */
function originOf({ metadata }: MemoryItem): string {
  const { source, sessionId, runId } = metadata
  const of = [sessionId, runId].flatMap((id) => (typeof id === 'string' ? [safeLine(id, 80)] : []))
  if (source === 'model') return `model (session ${of.join(', run ')})`
  return of.length > 0 ? `run ${of.join(', ')}` : 'host or user'
}

async function openMemory(args: Args, io: Io): Promise<MemoryStore | undefined> {
  const [{ settingsOf }, { FileMemoryStore }] = await Promise.all([
    import('../setup/load-settings.js'),
    import('../../memory/file/file-memory-store.js'),
  ])
  const { config, warnings } = await settingsOf(args, io)
  for (const warning of warnings) await write(io.stderr, `warning: ${safeLine(warning, 500)}\n`)
  if (config.memoryDir !== undefined) return new FileMemoryStore(config.memoryDir)
  await write(io.stderr, 'No memory is configured: set memory_dir in the configuration.\n')
  return undefined
}
