import { shownPath } from '../workspace/files/shown-path.js'

/**
 * A path as it stands in a line of output: as it is where every character can be seen for what it is, else quoted and escaped, so
 * that no name can pass for two lines or for another name. Never cut: it is there to be used again.
 */
export function pathText(path: string): string {
  const shown = shownPath(path, Number.POSITIVE_INFINITY)
  const plain = path !== '' && path.trim() === path && shown === `"${path}"`
  return plain ? path : shown
}
