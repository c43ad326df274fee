import { ConfigError } from '../../src/agent/config/config-error.js'
import { loadConfig } from '../../src/agent/config/load-config.js'

/**
 * Loads the configuration of an `acl` block and gives what is said about it: nothing, warnings, or why it is refused.
 */
export async function tryConfig(code: string): Promise<string> {
  try {
    const { warnings } = await loadConfig(code, { env: variablesIn(code), cwd: '/workspace' })
    return warnings.join('\n')
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.message
    throw thrown
  }
}

/** Every variable that is read has a value, but one whose name says that it has none. */
function variablesIn(code: string): Record<string, string> {
  const names = [...code.matchAll(/env\("([^"]+)"\)/g)].map(([, name = '']) => name)
  return Object.fromEntries(
    names.filter((name) => name !== 'NOT_SET').map((name) => [name, 'http://example.test']),
  )
}
