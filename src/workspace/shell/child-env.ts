import { ShellEnvironmentError } from './errors.js'
import { markerVariable } from './run-marker.js'

export type ChildEnvironment = Readonly<Record<string, string>>
export type ChildEnvironmentOptions = {
  /** A private directory: no `.bashrc`, `.gitconfig` or credentials of the user who runs the host. */
  readonly home: string
  readonly tmp: string
  readonly marker: string
  /** The search path for programs. Default: a fixed list. */
  readonly path?: string | undefined
  /** Variables that the host sets for commands. */
  readonly extra?: Readonly<Record<string, string>> | undefined
}

export const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Returns the whole environment of a command: a fixed list and the host's variables, nothing inherited. A list of what
 * is passed, not of what is withheld, because no pattern can match the name of every secret (SEC-111).
 */
export function childEnvironment(options: ChildEnvironmentOptions): ChildEnvironment {
  return {
    PATH: options.path ?? defaultPath,
    GIT_CONFIG_NOSYSTEM: '1',
    ...quietVariables,
    ...checkedVariables(options.extra ?? {}),
    HOME: options.home,
    TMPDIR: options.tmp,
    [markerVariable]: options.marker,
  }
}

/** Programs must neither wait for a user nor start a program that asks one. */
export const quietVariables: Readonly<Record<string, string>> = {
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '',
  SSH_ASKPASS: '',
  GIT_EDITOR: 'true',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  DEBIAN_FRONTEND: 'noninteractive',
}

/** These make a shell run code, or parse it differently, before the command that was approved (SEC-113, SEC-116). */
const refused = new Set([
  markerVariable,
  'BASH_ENV',
  'ENV',
  'SHELLOPTS',
  'BASHOPTS',
  'BASH_XTRACEFD',
  'PROMPT_COMMAND',
  'PS4',
  'IFS',
])

/** Returns the variables that a host sets for commands. Throws for those that cannot be passed. */
export function checkedVariables(extra: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(extra)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new ShellEnvironmentError(
        `The variable name ${JSON.stringify(name)} is not one a shell can hold: use letters, digits and underscores.`,
      )
    }
    if (refused.has(name)) {
      throw new ShellEnvironmentError(
        `The variable ${name} would change how every command is read, so it is not passed on. Set it inside the command instead.`,
      )
    }
    if (typeof value !== 'string' || value.includes('\0')) {
      throw new ShellEnvironmentError(`The value of ${name} must be text without a NUL character.`)
    }
  }
  return extra
}
