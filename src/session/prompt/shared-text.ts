import { Recent } from '../../authority/recent.js'

/**
 * One copy of a text for all sessions that use it: sessions on one workspace have the same prompt, and with a project's
 * instructions in it that is the largest thing an idle one keeps.
 */
export function sharedText(text: string): string {
  return recent.get(text, () => text)
}

const maxKept = 16
const recent = new Recent<string>(maxKept)
