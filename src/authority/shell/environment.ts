import type { Word } from './analysis.js'

/** Returns why setting a variable, before a command or alone, is not harmless. */
export function assignmentDoubt(name: string, value: Word): string | undefined {
  if (!isHarmlessVariable(name))
    return `it sets ${name}, which is not among the variables known to be harmless`
  if (value.value === undefined) return `it sets ${name} to something that is only known when it runs`
  return undefined
}

/** Setting one of these variables changes what every later name means: no unit of the text can be trusted by name. */
export function changesNames(variable: string): boolean {
  return /^(PATH|BASH_ENV|ENV|IFS|CDPATH|BASH_ALIASES|BASH_CMDS|FUNCNEST|EXECIGNORE|POSIXLY_CORRECT|SHELLOPTS|BASHOPTS|LD_.*|DYLD_.*|PROMPT_COMMAND|PS[0-4]|HOME|OLDPWD|PWD|GLOBIGNORE)$/.test(
    variable,
  )
}

/** Returns whether a loop can set this variable: short lower-case names are not settings of a program. */
export function isLoopVariable(name: string): boolean {
  return /^[a-z][a-z0-9]*$/.test(name) || name === '_'
}

function isHarmlessVariable(name: string): boolean {
  return HARMLESS.has(name) || /^LC_[A-Z]+$/.test(name)
}

const HARMLESS = new Set([
  ...['CI', 'NO_COLOR', 'FORCE_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE', 'COLUMNS', 'LINES', 'TERM', 'COLORTERM'],
  ...[
    'LANG',
    'LANGUAGE',
    'TZ',
    'NODE_ENV',
    'DEBIAN_FRONTEND',
    'HUSKY',
    'NEXT_TELEMETRY_DISABLED',
    'DO_NOT_TRACK',
  ],
  ...[
    'PYTHONUNBUFFERED',
    'PYTHONDONTWRITEBYTECODE',
    'PYTHONHASHSEED',
    'RUST_BACKTRACE',
    'RUST_LOG',
    'CARGO_TERM_COLOR',
  ],
  ...[
    'GIT_TERMINAL_PROMPT',
    'GIT_OPTIONAL_LOCKS',
    'SOURCE_DATE_EPOCH',
    'GO111MODULE',
    'CGO_ENABLED',
    'GOOS',
    'GOARCH',
  ],
])
