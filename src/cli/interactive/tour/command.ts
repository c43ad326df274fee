import type { Command } from '../../command.js'
import { type Io, write } from '../../io.js'

export const command: Command = {
  usage: [''],
  description: `Opens a session on a sample project in a temporary directory, with the built-in offline model. It needs no API key and no network, and
removes its files at the end. Without a terminal, all steps run by themselves.`,
  options: [],
  examples: [{ line: 'capstan tour', comment: 'Take the tour' }],
  async run(_args, io) {
    const [{ Args }, { makeSampleWorkspace }, { tourRules, TourGuide }] = await Promise.all([
      import('../../args.js'),
      import('./sample-workspace.js'),
      import('./tour-guide.js'),
    ])
    const sample = await makeSampleWorkspace()
    try {
      const args = new Args(
        [],
        new Map<string, readonly string[]>([
          ['directory', [sample.root]],
          ['model', ['offline']],
          ['allow', tourRules.allow],
          ['deny', tourRules.deny],
        ]),
      )
      // Rules, history and sessions of the tour are not stored in the user's own directory.
      const tourIo: Io = { ...io, env: { ...io.env, CAPSTAN_HOME: sample.userDir, CAPSTAN_MODEL: undefined } }
      const prepare = async () => (await import('../../setup/prepare.js')).prepare(args, tourIo)
      if (io.isTTY.stdin && io.isTTY.stdout && io.env['TERM'] !== 'dumb') {
        const { TerminalChat } = await import('../terminal-chat.js')
        return await new TerminalChat(tourIo, new TourGuide()).run(prepare)
      }
      const { PlainChat } = await import('../plain-chat.js')
      // The workspace is a temporary sample, so every question is answered with yes. No other command does that.
      return await new PlainChat(tourIo, { lines: tourLines(io), agrees: true }).run(prepare)
    } finally {
      await sample.close()
    }
  },
}

async function* tourLines(io: Io): AsyncGenerator<string, void, undefined> {
  const [{ colorsFor }, { tourSteps }] = await Promise.all([
    import('../../terminal/colors.js'),
    import('./tour-guide.js'),
  ])
  const { bold, cyan } = colorsFor(io, 'stdout')
  await write(
    io.stdout,
    `${bold('Capstan: a session on a sample project, with the built-in offline model')}\n`,
  )
  for (const [at, { title, prompt }] of tourSteps.entries()) {
    await write(io.stdout, `\n${bold(`${at + 1}. ${title}`)}\n${cyan(`> ${prompt}`)}\n\n`)
    yield prompt
  }
}
