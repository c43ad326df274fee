import type { GrepRequest } from '../../tool/runtime.js'
import type { SearchTarget } from './search-target.js'

/** Options for searching the directory ripgrep is started in, or one file of it. */
export function walkArgs(target: SearchTarget, names: readonly string[] | undefined): string[] {
  // A file named outright is searched whatever ignore rules say. Not passed as a path: ripgrep then searches binary
  // files too.
  if (target.fileName !== undefined) {
    return ['--hidden', '--no-ignore', '--max-depth=1', `--glob=/${escapeGlob(target.fileName)}`]
  }
  // `.gitignore` only, so that what is found depends on the workspace, not on the user's or the machine's settings.
  const rules = ['--no-ignore-dot', '--no-ignore-global', '--no-ignore-exclude']
  // With --no-require-git, ripgrep takes rules from every directory up to `/`, past the top of the repository.
  const reach = target.repository === undefined ? ['--no-require-git', '--no-ignore-parent'] : []
  // File types, not --glob, which would bring ignored files back.
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
        // Ripgrep leaves the column out for an empty match at the very end of a file; with `:` that would look like
        // text.
        '--field-match-separator=\\x00',
        '--no-context-separator',
        `--before-context=${request.before ?? 0}`,
        `--after-context=${request.after ?? 0}`,
      ]
  return [
    ...shape,
    // So that `$` fits before CRLF. No PCRE: the default engine takes linear time whatever the pattern.
    '--crlf',
    '--engine=default',
    request.ignoreCase ? '--ignore-case' : '--case-sensitive',
    `--regexp=${request.pattern}`,
  ]
}

function escapeGlob(name: string): string {
  return name.replace(/[\\*?[\]{}!]/g, '\\$&')
}
