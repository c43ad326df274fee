import type { VerificationCommand } from '../store/verification.js'
import { isRecord } from '../tool/json.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { VerificationError } from './errors.js'

/** A command with its defaults applied. */
export type CheckCommand = Required<Omit<VerificationCommand, 'timeoutMs' | 'cwd'>> &
  Pick<VerificationCommand, 'timeoutMs' | 'cwd'>

const maxCommands = 100
const maxTextLength = 2_000
const maxCommandLength = 100_000

export function readSubject(value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '' && value.length <= maxTextLength) return value
  throw new VerificationError(`The subject must be a text of 1 to ${maxTextLength} characters.`)
}

/** Reads commands. A plain string is a command without a name. */
export function readCommands(given: unknown): CheckCommand[] {
  if (!Array.isArray(given)) throw new VerificationError('The commands must be a list.')
  if (given.length > maxCommands)
    throw new VerificationError(`There are ${given.length} commands, and at most ${maxCommands} are taken.`)
  const commands = given.map((one: unknown, at) => readCommand(one, at))
  const twice = commands.find(({ id }, at) => commands.findIndex((other) => other.id === id) < at)
  if (twice !== undefined)
    throw new VerificationError(`Two commands have the id '${twice.id}': give each its own.`)
  return commands
}

function readCommand(given: unknown, at: number): CheckCommand {
  const value = typeof given === 'string' ? { command: given } : given
  if (!isRecord(value)) throw new VerificationError(`commands[${at}] must be an object with a command.`)
  const odd = Object.keys(value).find((name) => !known.includes(name))
  if (odd !== undefined) {
    const near = nearestNames(odd, known)
    const hint = near.length === 0 ? `Known are: ${known.join(', ')}.` : `Did you mean ${quoteNames(near)}?`
    throw new VerificationError(`commands[${at}].${odd} is not known. ${hint}`)
  }
  const text = (name: string, most: number): string | undefined => textOf(value, name, at, most)
  const command = text('command', maxCommandLength)
  if (command === undefined) throw new VerificationError(`commands[${at}].command is missing.`)
  const { required = true, timeoutMs } = value
  if (typeof required !== 'boolean')
    throw new VerificationError(`commands[${at}].required must be true or false.`)
  if (timeoutMs !== undefined && !isCount(timeoutMs))
    throw new VerificationError(`commands[${at}].timeoutMs must be a whole number of milliseconds above 0.`)
  const cwd = text('cwd', maxTextLength)
  if (cwd !== undefined) refuseOutside(cwd, at)
  return {
    id: text('id', 200) ?? `check-${at + 1}`,
    kind: text('kind', 100) ?? 'command',
    description: text('description', maxTextLength) ?? firstLine(command),
    command,
    required,
    ...omitUndefined({ timeoutMs, cwd }),
  }
}

/** `definition` is what a preset adds for users. */
const known = ['id', 'kind', 'description', 'command', 'required', 'timeoutMs', 'cwd', 'definition']

function textOf(
  value: Readonly<Record<string, unknown>>,
  name: string,
  at: number,
  most: number,
): string | undefined {
  const text = value[name]
  if (text === undefined) return undefined
  if (typeof text === 'string' && text.trim() !== '' && text.length <= most && !text.includes('\0'))
    return text
  throw new VerificationError(`commands[${at}].${name} must be a text of 1 to ${most} characters.`)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0
}

/** Rejects a `cwd` outside the workspace, because the shell would follow it. Links are checked by the sandbox. */
function refuseOutside(cwd: string, at: number): void {
  if (cwd.startsWith('/') || cwd.split('/').includes('..'))
    throw new VerificationError(
      `commands[${at}].cwd is '${cwd}': name a directory inside the workspace, from its root and without "..".`,
    )
}

function firstLine(command: string): string {
  const [line = ''] = command.trim().split('\n')
  return line.length <= 120 ? line : `${line.slice(0, 119)}…`
}
