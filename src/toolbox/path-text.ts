import { shownPath } from '../workspace/files/shown-path.js'

/**
 * Returns a path for a line of output: unchanged if every character is visible, otherwise quoted and escaped, so that
 * no name can look like two lines or like another name. Never shortened, because the model uses it again.
 */
export function pathText(path: string): string {
  const shown = shownPath(path, Number.POSITIVE_INFINITY)
  const plain = path !== '' && path.trim() === path && shown === `"${path}"`
  return plain ? path : shown
}
