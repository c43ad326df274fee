import type { GrepRequest } from '../../tool/runtime.js'
import type { SearchTarget } from './search-target.js'

/** Returns the options for searching the directory that ripgrep is started in, or one file of it. */
export function walkArgs(target: SearchTarget, names: readonly string[] | undefined): string[] {
  // A file that is named explicitly is searched regardless of ignore rules. It is not passed as a path, because ripgrep
  // then searches binary files too.
  if (target.fileName !== undefined) {
    return ['--hidden', '--no-ignore', '--max-depth=1', `--glob=/${escapeGlob(target.fileName)}`]
  }
  // `.gitignore` only, so that the results depend on the workspace, not on the settings of the user or the machine.
  const rules = ['--no-ignore-dot', '--no-ignore-global', '--no-ignore-exclude']
  // With --no-require-git, ripgrep reads rules from every directory up to `/`, beyond the top of the repository.
  const reach = target.repository === undefined ? ['--no-require-git', '--no-ignore-parent'] : []
  // File types, not --glob, which would include ignored files again.
  const types = names?.map((name) => `--type-add=wanted:${name}`) ?? []
  const wanted = types.length > 0 ? [...types, '--type=wanted'] : []
  return ['--hidden', '--glob=!.git', ...rules, ...reach, ...wanted]
}

export function grepArgs(request: GrepRequest): string[] {
  const inFiles = request.mode === 'files' || request.mode === 'count'
  const shape = inFiles
    ? ['--count', '--null', '--with-filename']
    : [
        '--null',
        '--with-filename',
        '--no-heading',
        '--line-number',
        '--column',
        // Ripgrep omits the column for an empty match at the end of a file; with `:` as separator the output would look
        // like text.
        '--field-match-separator=\\x00',
        '--no-context-separator',
        `--before-context=${request.before ?? 0}`,
        `--after-context=${request.after ?? 0}`,
      ]
  return [
    ...shape,
    // Makes `$` match before CRLF. No PCRE: the default engine takes linear time for every pattern.
    '--crlf',
    '--engine=default',
    request.ignoreCase ? '--ignore-case' : '--case-sensitive',
    `--regexp=${request.pattern}`,
  ]
}

function escapeGlob(name: string): string {
  return name.replace(/[\\*?[\]{}!]/g, '\\$&')
}
