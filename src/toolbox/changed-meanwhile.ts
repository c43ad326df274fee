import { CapstanError } from '../tool/errors.js'
import { pathText } from './path-text.js'

/**
 * Returns the error for a file that another process changed between reading and writing; any other error unchanged.
 */
export function changedMeanwhile(thrown: unknown, path: string): unknown {
  if (!(thrown instanceof CapstanError) || thrown.code !== 'file_changed') return thrown
  return new CapstanError(
    'version_conflict',
    `Concurrent modification detected on ${pathText(path)}: it was changed, made or removed by something else while ` +
      'this call ran, and was left as it is now. Read it again and repeat the change if it still applies.',
    { cause: thrown },
  )
}
