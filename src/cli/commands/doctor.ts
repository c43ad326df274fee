import type { Command } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { placeFlags, storeFlag } from '../setup/session-flags.js'
import { colorsFor } from '../terminal/colors.js'
import { safeJson, safeText } from '../terminal/safe-text.js'
import { wrapText } from '../terminal/wrap.js'

export const command: Command = {
  usage: ['[--json]'],
  about:
    'The sandbox is proven by trying to break out of it. Keys are looked for and never shown. Ends with 1 when something is broken.',
  options: [
    { name: 'json', summary: 'as lines of JSON' },
    { name: 'model', short: 'm', value: 'provider/model', summary: 'look at this model' },
    storeFlag,
    ...placeFlags,
  ],
  examples: [{ line: 'capstan doctor', says: 'looks at everything' }],
  async run(args, io) {
    const { look } = await import('../doctor/look.js')
    const { green, yellow, red, dim } = colorsFor(io, 'stdout')
    const marks = { ok: green('ok  '), warn: yellow('warn'), fail: red('FAIL') }
    let failed = false
    for await (const finding of look(args, io)) {
      const { area, state, says, hint } = finding
      failed ||= state === 'fail'
      const lines = [...fitted(says, io), ...(hint === undefined ? [] : fitted(hint, io).map(dim))]
      const text = lines.join(`\n${' '.repeat(margin)}`)
      await write(
        io.stdout,
        args.has('json') ? `${safeJson(finding)}\n` : `${marks[state]}  ${area.padEnd(7)} ${text}\n`,
      )
    }
    return failed ? exitCodes.failed : exitCodes.done
  },
}

/** What stands before the words. */
const margin = 14

function fitted(text: string, io: Io): string[] {
  const safe = safeText(text)
  return io.isTTY.stdout ? wrapText(safe, io.columns() - margin) : safe.split('\n')
}
