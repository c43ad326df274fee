import { shownPath } from '../workspace/files/shown-path.js'

/**
 * A path as it stands in a line of output: as it is where every character can be seen for what it is, else quoted and escaped, so
 * that no name can pass for two lines or for another name. Never cut: it is there to be used again.
 */
export function pathText(path: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(path) && !/["\\]/.test(path)) return path
  const characters = [...path]
  let shown = ''
  for (let at = 0; at < characters.length; at += atOnce) {
    shown += shownPath(characters.slice(at, at + atOnce).join('')).slice(1, -1)
  }
  return shown === path && path !== '' && path.trim() === path ? path : `"${shown}"`
}

/** So few that `shownPath` cuts none off, even when each is escaped. */
const atOnce = 24
