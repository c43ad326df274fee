import { resolve } from 'node:path'
import type { AgentDir } from '../../agent/dir/index.js'
import type { Command } from '../command.js'

import { exitCodes } from '../exit-codes.js'
import { write } from '../io.js'
import { directoryFlag } from '../setup/session-flags.js'
import { type Colors, colorsFor } from '../terminal/colors.js'
import { safeJson, safeLine } from '../terminal/safe-text.js'

export const command: Command = {
  usage: ['AGENT_DIR'],
  description:
    'Reads the whole directory and starts nothing. Every problem is printed with its file and line.',
  options: [{ name: 'json', summary: 'Print JSON' }, directoryFlag],
  examples: [
    { line: 'capstan check agents/release', comment: 'Check an agent directory before you serve it' },
  ],
  exitCodes: { 0: 'no problems', 1: 'the directory has problems' },
  async run(args, io) {
    const given = args.required(0, 'AGENT_DIR', 'Usage: capstan check AGENT_DIR')
    const { AgentDirError, loadAgentDir } = await import('../../agent/dir/index.js')
    const colors = colorsFor(io, 'stdout')
    try {
      const workspace = resolve(io.cwd, args.value('directory') ?? '.')
      const dir = await loadAgentDir(resolve(io.cwd, given), { env: io.env, workspace })
      await write(
        io.stdout,
        args.has('json') ? `${safeJson({ ok: true, ...dir })}\n` : summaryOf(dir, colors),
      )
      return exitCodes.done
    } catch (error) {
      if (!(error instanceof AgentDirError)) throw error
      const { problems } = error
      if (args.has('json')) await write(io.stdout, `${safeJson({ ok: false, problems })}\n`)
      else
        for (const { file, line, message } of problems)
          await write(io.stdout, `${colors.bold(`${safeLine(file)}:${line}`)}: ${safeLine(message, 1_000)}\n`)
      const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
      await write(io.stderr, `${count} in ${safeLine(given)}. It cannot be served.\n`)
      return exitCodes.failed
    }
  },
}

function summaryOf(dir: AgentDir, { bold, dim, yellow }: Colors): string {
  const lines = [
    `${bold(safeLine(dir.name))}: no problems`,
    ...dir.schedules.map(
      (schedule) =>
        `  schedule ${safeLine(schedule.name)}  ${dim(`${whenOf(schedule)}${schedule.enabled ? '' : ', disabled'}`)}`,
    ),
    ...dir.tools.map(({ kind, name }) => `  tool     ${safeLine(name)}  ${dim(kind)}`),
    ...dir.skills.map((name) => `  skill    ${safeLine(name)}`),
    ...dir.warnings.map((warning) => yellow(`  warning: ${safeLine(warning, 500)}`)),
  ]
  return `${lines.join('\n')}\n`
}

/** Describes the triggers of a schedule. */
function whenOf({ cron, timeZone, webhookSecret, watch, wakeUps }: AgentDir['schedules'][number]): string {
  return [
    ...(cron === undefined ? [] : [`${cron} ${timeZone}`]),
    ...(webhookSecret === undefined ? [] : ['webhook']),
    ...(watch === undefined ? [] : ['file changes']),
    ...(wakeUps === undefined ? [] : ['wake-ups']),
  ].join(', ')
}
