import { shownPath } from '../workspace/files/shown-path.js'

/**
 * Returns a path for a line of output: as it is where every character is visible, else quoted and escaped, so that no
 * name can look like two lines or like another name. Never shortened: the model uses it again.
 */
export function pathText(path: string): string {
  const shown = shownPath(path, Number.POSITIVE_INFINITY)
  const plain = path !== '' && path.trim() === path && shown === `"${path}"`
  return plain ? path : shown
}
