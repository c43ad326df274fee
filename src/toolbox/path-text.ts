import { shownPath } from '../workspace/files/shown-path.js'

/**
 * A path as it stands in a line of output: as it is where every character can be seen for what it is, else quoted and escaped, so
 * that no name can pass for two lines or for another name. Never cut: it is there to be used again.
 */
export function pathText(path: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(path) && !/["\\]/.test(path)) return path
  if (path.length > longestShown) return JSON.stringify(path)
  const shown = shownPath(path)
  return shown === `"${path}"` && path !== '' && path.trim() === path ? path : shown
}

/** Past this length `shownPath` cuts, since it may escape every character to several. */
const longestShown = 26
