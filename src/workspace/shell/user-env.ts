import { homedir } from 'node:os'
import { type ChildEnvironment, defaultPath } from './child-env.js'
import { ShellEnvironmentError } from './errors.js'
import { markerVariable } from './run-marker.js'

export type UserEnvironmentOptions = {
  readonly marker: string
  /** The search path for programs. Default: a fixed list. */
  readonly path?: string | undefined
  /** The variables of the program's configuration entry. */
  readonly extra?: Readonly<Record<string, string>> | undefined
}

/**
 * Returns the environment of a program that the host configured and that runs as if the user started it: the user's
 * home, locale, certificates and proxies, and the variables of its entry. It is a list of what is passed on, so that no
 * key of the host is included (SEC-181).
 */
export function userEnvironment(options: UserEnvironmentOptions): ChildEnvironment {
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
