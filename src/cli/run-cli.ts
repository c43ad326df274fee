import type { CommandEntry } from './command.js'
import { commandTable } from './command-table.js'
import { exitCodes } from './exit-codes.js'
import { type Io, write } from './io.js'

/** Runs the command line and returns its exit code. Never throws. */
export async function runCli(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await dispatch(argv, io)
  } catch (error) {
    const { describeFailure } = await import('./failure.js')
    const { text, exitCode } = describeFailure(error, io)
    // The reader of the pipe has closed it (`capstan sessions replay | head`), so no error message is needed.
    if (io.signal.reason !== 'SIGPIPE') await write(io.stderr, text)
    const isTerminated = io.signal.reason === 'SIGTERM' || io.signal.reason === 'SIGHUP'
    return exitCode === exitCodes.cancelled && isTerminated ? exitCodes.terminated : exitCode
  }
}

async function dispatch(argv: readonly string[], io: Io): Promise<number> {
  const [first = 'chat', ...rest] = argv
  if (first === '--version' || first === '-V') {
    const { packageVersion } = await import('./version.js')
    await write(io.stdout, `${packageVersion()}\n`)
    return exitCodes.done
  }
  if (first === '--help' || first === '-h' || first === 'help') return help(rest[0], io)
  // Options without a command belong to the interactive session.
  if (first.startsWith('-')) return call('chat', argv, io)
  return call(first, rest, io)
}

async function call(name: string, argv: readonly string[], io: Io): Promise<number> {
  const entry = await entryFor(name)
  const wantsHelp = optionsPart(argv).some((arg) => arg === '--help' || arg === '-h')
  if (wantsHelp) return help(name, io)
  const [command, { readArgs }] = await Promise.all([entry.load(), import('./args.js')])
  return command.run(readArgs(argv, command.options), io, commandTable)
}

async function help(name: string | undefined, io: Io): Promise<number> {
  const { commandHelp, generalHelp } = await import('./help.js')
  const columns = Math.min(io.columns(), 100)
  if (name === undefined || name.startsWith('-')) await write(io.stdout, generalHelp(columns))
  else {
    const entry = await entryFor(name)
    await write(io.stdout, commandHelp(entry, await entry.load(), columns))
  }
  return exitCodes.done
}

async function entryFor(name: string): Promise<CommandEntry> {
  const entry = commandTable.find((each) => each.name === name)
  if (entry !== undefined) return entry
  const [{ UsageError }, { nearestNames, quoteNames }] = await Promise.all([
    import('./errors.js'),
    import('../tool/nearest.js'),
  ])
  const names = commandTable.map((each) => each.name)
  const near = nearestNames(name, names)
  throw new UsageError(
    `Unknown command ${JSON.stringify(name)}.`,
    near.length > 0
      ? `Did you mean ${quoteNames(near)}? To send a prompt: capstan run "…"`
      : `Commands: ${names.join(', ')}. To send a prompt: capstan run "…"`,
  )
}

/** Returns the arguments before `--`; those after it are not options. */
function optionsPart(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  return end < 0 ? argv : argv.slice(0, end)
}
