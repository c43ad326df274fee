import { CommandLineError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import type { Io } from '../io.js'
import type { Prepared } from '../setup/prepare.js'
import { configName } from '../setup/workspace-config.js'

/**
 * Throws unless the user has chosen the model of a non-interactive run. Otherwise the offline model, or a model other
 * than the one in an unconfirmed configuration, would answer, and the run would look successful.
 */
export function requireModel(
  { model, unconfirmed }: Pick<Prepared, 'model' | 'unconfirmed'>,
  { env }: Pick<Io, 'env'>,
): void {
  if (model.from === 'flag') return
  if (unconfirmed !== undefined && (model.from !== 'config' || isCi(env)))
    throw new CommandLineError(
      `${configName} came with this directory and is not used until you confirm it.`,
      `Read the file, then confirm it with "capstan trust --yes", use it for one run with --config ${configName}, or choose a model with --model.`,
      exitCodes.model,
    )
  if (model.from === 'offline')
    throw new CommandLineError(
      'No language model is configured.',
      'Set an API key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, choose a model with --model or CAPSTAN_MODEL, or write a configuration with "capstan init". --model offline uses the built-in model, which only follows simple rules.',
      exitCodes.model,
    )
}

/** Whether the variable that CI systems set is present. */
function isCi(env: Io['env']): boolean {
  const ci = env['CI']?.trim().toLowerCase() ?? ''
  return ci !== '' && ci !== '0' && ci !== 'false'
}
