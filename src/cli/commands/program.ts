import { readFile } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import type { ProgramRequest } from '../../session/direct-tools.js'
import { messageOf } from '../../tool/errors.js'
import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { CommandLineError, UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { readDuration } from '../setup/duration.js'
import { permissionFlags, placeFlags } from '../setup/session-flags.js'
import { plainOutput, safeJson } from '../terminal/safe-text.js'

export const command: Command = {
  usage: ['FILE [name=value …]'],
  about: `The file is JavaScript (.js, .mjs) or TypeScript (.ts) that exports or defines run(ctx, inputs). It has no access to this machine but
through the tools that it calls, which are yours: they are not judged by rules, and are held to everything else.`,
  options: [
    {
      name: 'tool',
      value: 'name',
      repeatable: true,
      summary: 'a tool that it may call; every one when left out',
    },
    { name: 'inputs', value: 'json', summary: 'its inputs as JSON' },
    { name: 'timeout', value: 'duration', summary: 'how long it may take' },
    { name: 'max-calls', value: 'n', summary: 'how many calls it may make' },
    { name: 'json', summary: 'the whole result as JSON' },
    ...permissionFlags.filter(({ name }) => name === 'sandbox' || name === 'allow-host'),
    ...placeFlags,
  ],
  examples: [
    {
      line: 'capstan program scripts/count.js --tool grep path=src',
      says: 'a script with one input and one tool',
    },
  ],
  async run(args, io) {
    const { withSession } = await import('../setup/with-session.js')
    return withSession(args, io, async (session) => {
      const request = await requestOf(args, io, session.workspace)
      const { output, exitCode, envelope } = await session.program(request)
      if (args.has('json')) await write(io.stdout, `${safeJson(envelope)}\n`)
      else
        await write(envelope.type === 'error' ? io.stderr : io.stdout, `${plainOutput(output).trimEnd()}\n`)
      return exitCode === 0 ? exitCodes.done : exitCodes.failed
    })
  },
}

async function requestOf(args: Args, io: Io, workspace: string): Promise<ProgramRequest> {
  const [file, ...words] = args.positionals
  if (file === undefined) throw new UsageError('Which file?', 'Write: capstan program FILE')
  const [tools, inputs] = [args.values('tool'), await inputsOf(args, words)]
  return {
    ...(await sourceOf(resolve(io.cwd, file), workspace)),
    ...(tools.length > 0 && { allowedTools: tools }),
    ...(inputs !== undefined && { inputs }),
    limits: limitsOf(args),
  }
}

/** A file outside the workspace is the user's own to read; the session could not. */
async function sourceOf(
  file: string,
  workspace: string,
): Promise<Pick<ProgramRequest, 'source' | 'path' | 'language'>> {
  const inside = relative(workspace, file)
  if (inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)) return { path: inside }
  try {
    const source = await readFile(file, 'utf8')
    return { source, language: file.endsWith('.ts') ? 'typescript' : 'javascript' }
  } catch (error) {
    throw new CommandLineError(`${file} cannot be read: ${messageOf(error)}`)
  }
}

async function inputsOf(args: Args, words: readonly string[]): Promise<unknown> {
  const json = args.value('inputs')
  const { readArguments } = await import('../tools/read-arguments.js')
  if (json === undefined) return words.length === 0 ? undefined : readArguments(words)
  if (words.length > 0) throw new UsageError('Inputs are given by --inputs or as name=value, not both.')
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new UsageError(`--inputs is not JSON: ${messageOf(error)}`)
  }
}

function limitsOf(args: Args): NonNullable<ProgramRequest['limits']> {
  const timeout = args.value('timeout')
  const maxToolCalls = args.count('max-calls')
  return {
    ...(timeout !== undefined && { timeoutMs: readDuration('timeout', timeout) }),
    ...(maxToolCalls !== undefined && { maxToolCalls }),
  }
}
