import type { VerificationCheck, VerificationReport } from '../../store/verification.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { VerificationPreset } from '../../verify/index.js'
import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { placeFlags, sandboxFlags } from '../setup/session-flags.js'
import { type Colors, colorsFor } from '../terminal/colors.js'
import { plainOutput, safeJson, safeLine } from '../terminal/safe-text.js'

export const command: Command = {
  usage: ['[PRESET …]', '--list', '--command "COMMAND"'],
  description:
    "Finds the project's checks (tests, types and lint of its package manager or language) and runs them in the sandbox.",
  options: [
    { name: 'list', short: 'l', summary: 'List the checks and run nothing' },
    {
      name: 'command',
      value: 'command',
      repeatable: true,
      summary: "Run this command instead of the project's checks",
    },
    { name: 'timeout', value: 'duration', summary: 'Time limit of each check, for example 90s or 10m' },
    { name: 'json', summary: 'Print the reports as JSON' },
    ...sandboxFlags,
    ...placeFlags,
  ],
  examples: [
    { line: 'capstan verify', comment: 'Run all checks of the project' },
    {
      line: 'capstan verify --command "npm test" --command "npm run lint"',
      comment: 'Run two commands as checks',
    },
  ],
  exitCodes: {
    0: 'all required checks passed',
    1: 'a required check failed',
    3: 'nothing to check, or not every check could run',
  },
  async run(args, io) {
    const { withSession } = await import('../setup/with-session.js')
    // --timeout limits each check here, not a run.
    return withSession(args, io, async (session) => {
      const presets = chosen(args, session.verificationPresets())
      if (args.has('list')) return printPresets(presets, args, io)
      const limit = omitUndefined({ timeoutMs: args.duration('timeout') })
      const reports: VerificationReport[] = []
      for (const { id, commands } of presets) {
        const limited = commands.map(({ definition: _, ...each }) => ({ ...each, ...limit }))
        const report = await session.verifyCommands(id, limited, { signal: io.signal })
        reports.push(report)
        if (!args.has('json')) await write(io.stdout, reportText(report, colorsFor(io, 'stdout')))
      }
      if (args.has('json'))
        await write(io.stdout, `${safeJson({ ...session.verificationSummary(), reports })}\n`)
      if (presets.length === 0)
        await write(
          io.stderr,
          'This directory has no checks.\nhint: Give a check with --command "COMMAND".\n',
        )
      return exitCodeOf(reports)
    })
  },
}

function exitCodeOf(reports: readonly VerificationReport[]): number {
  const required = reports.flatMap(({ checks }) => checks).filter((check) => check.required)
  if (required.some(({ status }) => status === 'failed')) return exitCodes.failed
  const isProven = required.length > 0 && required.every(({ status }) => status === 'passed')
  return isProven ? exitCodes.done : exitCodes.incomplete
}

function chosen(args: Args, offered: readonly VerificationPreset[]): readonly VerificationPreset[] {
  const own = args.values('command')
  if (own.length > 0) {
    const commands = own.map((text, at) => ({
      id: `check-${at + 1}`,
      kind: 'command',
      description: text,
      command: text,
      required: true,
      timeoutMs: 600_000,
    }))
    return [{ id: 'checks', name: 'checks', description: 'commands given with --command', commands }]
  }
  for (const wanted of args.positionals)
    if (!offered.some(({ id }) => id === wanted))
      throw new UsageError(
        `Unknown preset ${JSON.stringify(wanted)}.`,
        offered.length > 0
          ? `Presets: ${offered.map(({ id }) => id).join(', ')}.`
          : 'This directory has no presets.',
      )
  return args.positionals.length === 0 ? offered : offered.filter(({ id }) => args.positionals.includes(id))
}

async function printPresets(presets: readonly VerificationPreset[], args: Args, io: Io): Promise<number> {
  const { bold, dim } = colorsFor(io, 'stdout')
  if (args.has('json')) await write(io.stdout, `${safeJson(presets)}\n`)
  else
    for (const { id, description, commands } of presets)
      await write(
        io.stdout,
        `${bold(safeLine(id))}  ${dim(safeLine(description))}\n${commands.map((each) => `  ${safeLine(each.command, 400)}${each.required ? '' : dim(' (not required)')}\n`).join('')}`,
      )
  return presets.length > 0 ? exitCodes.done : exitCodes.incomplete
}

function reportText({ subject, checks, residual_risks }: VerificationReport, colors: Colors): string {
  const lines = [
    colors.bold(safeLine(subject)),
    ...checks.map((check) => checkText(check, colors)),
    ...residual_risks.map((risk) => colors.yellow(`  ! ${safeLine(risk, 400)}`)),
  ]
  return `${lines.join('\n')}\n`
}

function checkText(check: VerificationCheck, { green, red, yellow, dim }: Colors): string {
  const { status, command = check.id, duration_ms, evidence } = check
  const mark = status === 'passed' ? green('✓') : status === 'failed' ? red('✗') : yellow('?')
  const took = duration_ms === undefined ? '' : dim(` (${(duration_ms / 1000).toFixed(1)} s)`)
  const said = status === 'passed' ? '' : plainOutput(evidence?.tail ?? evidence?.head ?? '').trimEnd()
  const shown =
    said === ''
      ? ''
      : `\n${said
          .split('\n')
          .slice(-20)
          .map((line) => dim(`    ${line}`))
          .join('\n')}`
  return `  ${mark} ${safeLine(command, 300)}${took}${status === 'passed' || status === 'failed' ? '' : ` ${status}`}${shown}`
}
