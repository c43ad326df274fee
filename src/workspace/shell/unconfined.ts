import type { ResourceLimits } from '../limits/resource-limits.js'
import { childEnvironment } from './child-env.js'
import { type Confinement, noRefusals } from './confinement.js'
import { limited, userProcesses } from './start-words.js'
import { userEnvironment } from './user-env.js'

export type UnconfinedOptions = {
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly path?: string | undefined
  readonly limits: ResourceLimits
  /** Whether commands have the environment of the user, with the user's home directory. */
  readonly asUser?: boolean | undefined
}

/** No sandbox: the command has all permissions of the host's user. Its environment is separate, unless `asUser`. */
export function unconfined(options: UnconfinedOptions): Confinement {
  const { limits } = options
  return {
    name: 'none',
    namespaces: false,
    async confine({ argv, cwd, home, tmp, marker, mark, streams }) {
      const [file = '/bin/sh', ...args] = limited(argv, limits, {
        streams,
        mark,
        userProcesses: userProcesses(limits),
      })
      return {
        file,
        args,
        cwd,
        env: options.asUser
          ? userEnvironment({ marker, path: options.path, extra: options.env })
          : childEnvironment({ home, tmp, marker, path: options.path, extra: options.env }),
        contained: false,
        finish: async () => noRefusals,
      }
    },
  }
}
