import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { write } from '../io.js'
import { placeFlags } from '../setup/session-flags.js'
import { colorsFor } from '../terminal/colors.js'
import { safeJson, safeLine } from '../terminal/safe-text.js'

export const command: Command = {
  usage: ['[WORD …]'],
  description:
    'Lists the models of the configuration and of the built-in catalogue with their limits and prices (US dollars per million tokens; "+": long requests have other prices). Each word must occur in the name provider/model. The configuration takes precedence over the catalogue.',
  options: [
    { name: 'provider', value: 'NAME', summary: 'Only models of this provider' },
    { name: 'images', summary: 'Only models that accept images' },
    { name: 'input', value: 'KIND', summary: 'Only models that accept this: image, pdf, audio or video' },
    { name: 'reasoning', summary: 'Only models with reasoning' },
    { name: 'min-context', value: 'TOKENS', summary: 'Only models with at least this context window' },
    { name: 'configured', summary: 'Only models of the configuration' },
    { name: 'json', summary: 'Print one JSON object per line' },
    ...placeFlags,
  ],
  examples: [
    { line: 'capstan models sonnet', comment: 'Find models by a part of their name' },
    { line: 'capstan models --provider openai --reasoning', comment: 'List the models of one provider' },
  ],
  exitCodes: { 0: 'success', 1: 'no model matches' },
  async run(args, io) {
    const [{ listModels, modelTable }, { settingsOf }] = await Promise.all([
      import('../models/model-list.js'),
      import('../setup/load-settings.js'),
    ])
    const { config, warnings } = await settingsOf(args, io)
    const words = args.positionals.map((word) => word.toLowerCase())
    const provider = args.value('provider')?.toLowerCase()
    const minContext = args.count('min-context')
    const input = inputFact(args.value('input'))
    const found = listModels(config).filter(
      (model) =>
        words.every((word) => model.name.toLowerCase().includes(word)) &&
        (provider === undefined || model.name.toLowerCase().startsWith(`${provider}/`)) &&
        (!args.has('images') || model.images === true) &&
        (input === undefined || model[input] === true) &&
        (!args.has('reasoning') || model.reasoningLevels !== undefined) &&
        (!args.has('configured') || model.configured) &&
        (minContext === undefined || (model.contextTokens ?? 0) >= minContext),
    )
    for (const warning of warnings) await write(io.stderr, `warning: ${safeLine(warning, 500)}\n`)
    if (args.has('json')) await write(io.stdout, found.map((model) => `${safeJson(model)}\n`).join(''))
    else if (found.length > 0) {
      const { bold } = colorsFor(io, 'stdout')
      const [heading = '', ...lines] = modelTable(found, io.isTTY.stdout ? io.columns() : undefined)
      await write(io.stdout, `${[bold(heading), ...lines].join('\n')}\n`)
    }
    if (found.length > 0) return exitCodes.done
    await write(
      io.stderr,
      'No model matches. "capstan models" lists all; a model that is not listed can still be used.\n',
    )
    return exitCodes.failed
  },
}

/** Returns the fact of a model for a kind of input. */
function inputFact(kind: string | undefined): 'images' | 'documents' | 'audio' | 'video' | undefined {
  switch (kind) {
    case undefined:
      return undefined
    case 'image':
      return 'images'
    case 'pdf':
      return 'documents'
    case 'audio':
    case 'video':
      return kind
    default:
      throw new UsageError(`Invalid value for --input: ${kind}. Use image, pdf, audio or video.`)
  }
}
