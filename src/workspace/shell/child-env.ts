import { ShellEnvironmentError } from './errors.js'
import { markerVariable } from './run-marker.js'

export type ChildEnvironment = Readonly<Record<string, string>>
export type ChildEnvironmentOptions = {
  /** A private directory: no `.bashrc`, `.gitconfig` or credentials of the person who runs the host. */
  readonly home: string
  readonly tmp: string
  readonly marker: string
  /** Where programs are looked for; the fixed list when absent. */
  readonly path?: string | undefined
  /** Variables the host names for commands. */
  readonly extra?: Readonly<Record<string, string>> | undefined
}

export const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * The whole environment of a command: a fixed list and what the host names, nothing inherited. A list of what is let
 * through, not of what is withheld, since no pattern knows every secret's name (SEC-111).
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

/** These make a shell run code, or read it differently, before the command that was approved (SEC-113, SEC-116). */
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

/** Returns variables that a host names for commands. Throws for those that cannot be passed on. */
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
