import type { Args } from '../args.js'
import type { Command } from '../command.js'
import type { Attempt } from '../doctor/prove.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { placeFlags, storeFlag } from '../setup/session-flags.js'
import { colorsFor } from '../terminal/colors.js'
import { safeJson, safeText } from '../terminal/safe-text.js'
import { wrapText } from '../terminal/wrap.js'

export const command: Command = {
  usage: ['[--json]', '--prove [--backend NAME] [--report FILE]'],
  description:
    'Tests the sandbox by trying to escape from it. Reports which API keys are set, and never prints them. Starts no MCP server.',
  options: [
    { name: 'json', summary: 'Print one JSON object per line' },
    { name: 'prove', summary: 'Try every known escape on each sandbox, as root also as an ordinary user' },
    { name: 'backend', value: 'name', summary: 'With --prove: only bubblewrap, landlock or seatbelt' },
    { name: 'report', value: 'file', summary: 'With --prove: write what was tried as JSON' },
    { name: 'model', short: 'm', value: 'provider/model', summary: 'Check this model' },
    storeFlag,
    ...placeFlags,
  ],
  examples: [
    { line: 'capstan doctor', comment: 'Check everything' },
    { line: 'capstan doctor --prove --report escapes.json', comment: 'Try every known escape' },
    { line: 'capstan doctor --model openai/gpt-5', comment: 'Check whether a model is configured' },
  ],
  exitCodes: { 0: 'no failures (there can be warnings)', 1: 'something does not work' },
  async run(args, io) {
    if (args.has('prove')) return prove(args, io)
    const { checkMachine } = await import('../doctor/check-machine.js')
    const { green, yellow, red, dim } = colorsFor(io, 'stdout')
    const marks = { ok: green('ok  '), warn: yellow('warn'), fail: red('FAIL') }
    let failed = false
    for await (const finding of checkMachine(args, io)) {
      const { area, state, message, hint } = finding
      failed ||= state === 'fail'
      const lines = [...fitted(message, io), ...(hint === undefined ? [] : fitted(hint, io).map(dim))]
      const text = lines.join(`\n${' '.repeat(margin)}`)
      await write(
        io.stdout,
        args.has('json') ? `${safeJson(finding)}\n` : `${marks[state]}  ${area.padEnd(7)} ${text}\n`,
      )
    }
    return failed ? exitCodes.failed : exitCodes.done
  },
}

async function prove(args: Args, io: Io): Promise<number> {
  const { proveSandboxes, writeReport, countsOf } = await import('../doctor/prove.js')
  const { green, yellow, red } = colorsFor(io, 'stdout')
  const marks = {
    blocked: green('blocked'),
    escaped: red('ESCAPED'),
    'not applicable': yellow('n/a    '),
  }
  const attempts: Attempt[] = []
  for await (const attempt of proveSandboxes(args)) {
    attempts.push(attempt)
    const who = `${attempt.backend}, user ${attempt.user}`
    const text = safeText(`${who.padEnd(22)} ${attempt.attempt}: ${attempt.detail}`)
    const line = args.has('json') ? safeJson(attempt) : `${marks[attempt.result]}  ${text}`
    await write(io.stdout, `${line}\n`)
  }
  const { tried, blocked, escaped, notApplicable } = countsOf(attempts)
  if (!args.has('json'))
    await write(
      io.stdout,
      `${tried} tried, ${blocked} blocked, ${escaped} escaped, ${notApplicable} not applicable\n`,
    )
  const report = args.value('report')
  if (report !== undefined) await writeReport(report, attempts, io)
  return escaped > 0 || tried === 0 ? exitCodes.failed : exitCodes.done
}

/** The width of the columns for state and area. */
const margin = 14

function fitted(text: string, io: Io): string[] {
  const safe = safeText(text)
  return io.isTTY.stdout ? wrapText(safe, io.columns() - margin) : safe.split('\n')
}
