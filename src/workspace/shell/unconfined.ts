import { homedir } from 'node:os'
import type { ResourceLimits } from '../limits/resource-limits.js'
import {
  type ChildEnvironment,
  type ChildEnvironmentOptions,
  childEnvironment,
  defaultPath,
} from './child-env.js'
import { type Confinement, noRefusals } from './confinement.js'
import { ShellEnvironmentError } from './errors.js'
import { markerVariable } from './run-marker.js'
import { limited, userProcesses } from './start-words.js'

export type UnconfinedOptions = {
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly path?: string | undefined
  readonly limits: ResourceLimits
  /** With the mode `off`: whether commands have the environment of the user, with the user's home directory. */
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

/**
 * Returns the environment of a program that the host configured and that runs as if the user started it: the user's
 * home, locale, certificates and proxies, and the variables of its entry. It is a list of what is passed on, so that no
 * key of the host is included (SEC-181).
 */
function userEnvironment(options: Omit<ChildEnvironmentOptions, 'home' | 'tmp'>): ChildEnvironment {
  const own = Object.entries(process.env).flatMap(([name, value]) =>
    value !== undefined && isPassedOn(name, value) ? [[name, value] as const] : [],
  )
  return {
    HOME: homedir(),
    ...Object.fromEntries(own),
    PATH: options.path ?? defaultPath,
    ...checked(options.extra ?? {}),
    [markerVariable]: options.marker,
  }
}

const passedOn =
  /^(?:HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|TMP|TEMP|XDG_[A-Z]+_(?:HOME|DIRS|DIR)|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS)$/
const proxies = /^(?:https?|all|no)_proxy$/i

/** The address of a proxy may contain a password: then it is not passed on. */
function isPassedOn(name: string, value: string): boolean {
  return passedOn.test(name) || (proxies.test(name) && !value.includes('@'))
}

function checked(extra: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(extra)) {
    if (name === '' || /[=\0]/.test(name) || name === markerVariable)
      throw new ShellEnvironmentError(`${JSON.stringify(name)} cannot be the name of a variable here.`)
    if (typeof value !== 'string' || value.includes('\0'))
      throw new ShellEnvironmentError(`The value of ${name} must be text without a NUL character.`)
  }
  return extra
}
