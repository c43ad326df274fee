import { Recent } from '../../authority/recent.js'

/**
 * The same text for all who have it: sessions on one workspace are told the same to the last byte, and with a project's
 * instructions in it that is the largest thing an idle one keeps.
 */
export function sharedText(text: string): string {
  return recent.get(text, () => text)
}

const maxKept = 16
const recent = new Recent<string>(maxKept)
