import { readFile } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import type { ProgramRequest } from '../../session/direct-requests.js'
import { messageOf } from '../../tool/errors.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { CommandLineError, UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { placeFlags, sandboxFlags } from '../setup/session-flags.js'
import { plainOutput, safeJson } from '../terminal/safe-text.js'

export const command: Command = {
  usage: ['FILE [name=value …]'],
  description: `The file is JavaScript (.js, .mjs) or TypeScript (.ts) that exports or defines run(ctx, inputs). It reaches this machine only through
the tools that it calls. These calls are your own: permission rules do not apply to them, all other limits do.`,
  options: [
    {
      name: 'tool',
      value: 'name',
      repeatable: true,
      summary: 'Tool that the script can call (default: all)',
    },
    { name: 'inputs', value: 'json', summary: 'Inputs of the script, as JSON' },
    { name: 'timeout', value: 'duration', summary: 'Time limit, for example 90s or 10m' },
    { name: 'max-calls', value: 'n', summary: 'Maximum number of tool calls' },
    { name: 'json', summary: 'Print the whole result as JSON' },
    ...sandboxFlags,
    ...placeFlags,
  ],
  examples: [
    {
      line: 'capstan program scripts/count.js --tool grep path=src',
      comment: 'Run a script with one input and one tool',
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
  const file = args.required(0, 'FILE', 'Usage: capstan program FILE')
  const tools = args.values('tool')
  return omitUndefined({
    ...(await sourceOf(resolve(io.cwd, file), workspace)),
    allowedTools: tools.length > 0 ? tools : undefined,
    inputs: await inputsOf(args, args.positionals.slice(1)),
    limits: omitUndefined({
      timeoutMs: args.duration('timeout'),
      maxToolCalls: args.count('max-calls'),
    }),
  })
}

/**
 * Reads a program. A file outside the workspace is read here, with the user's own permissions, because the session
 * cannot read it.
 */
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
  if (words.length > 0) throw new UsageError('Give the inputs with --inputs or as name=value, not both.')
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new UsageError(`--inputs is not valid JSON: ${messageOf(error)}`)
  }
}
