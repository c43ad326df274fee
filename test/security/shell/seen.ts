import type { CommandAnalysis } from '../../../src/authority/shell/analysis.js'

/**
 * Why a command cannot be allowed by any pattern: doubts, unread script files, words that are only known when it runs.
 */
export function reasons({ doubts, units }: CommandAnalysis): string[] {
  return [
    ...doubts,
    ...units.flatMap((unit) => [
      ...unit.doubts,
      ...(unit.scriptFile === undefined ? [] : ['it runs a script file']),
      ...unit.words.flatMap((word) => (word.value === undefined ? [`${word.text} is not known`] : [])),
    ]),
  ]
}

/** The names of all units: `?` when only known at run time, `-` for a unit of assignments or redirections alone. */
export function unitNames({ units }: CommandAnalysis): string {
  return units.map(({ words: [name] }) => (name ? (name.value ?? '?') : '-')).join(' ')
}

/** `r a, w b@dir`. */
export function describePaths({ paths }: CommandAnalysis): string {
  return paths
    .filter(({ origin }) => origin === 'redirection' || origin === 'argument')
    .map(({ fs, path, cwd }) => `${fs[0]} ${path}${cwd === '.' ? '' : `@${cwd ?? '?'}`}`)
    .join(', ')
}
