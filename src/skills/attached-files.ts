import { lookInside } from '../workspace/files/quick-look.js'

const maxFiles = 200
const deepest = 4

/** The other files in the folder of a skill, by their path in it: only those that a copy of it would have, too. */
export function attachedFiles(folder: string): string[] {
  const glance = lookInside(folder)
  const files: string[] = []
  const look = (path: string, depth: number): void => {
    for (const name of [...glance.names(path === '' ? '.' : path)].sort()) {
      if (files.length >= maxFiles) return
      const inner = path === '' ? name : `${path}/${name}`
      if (!name.endsWith('/')) files.push(inner)
      else if (depth < deepest && name !== '.git/' && name !== 'node_modules/')
        look(inner.slice(0, -1), depth + 1)
    }
  }
  look('', 0)
  return files.filter(isAttached)
}

/** Whether a file of a skill's folder is another than its text. */
export function isAttached(path: string): boolean {
  return path.toLowerCase() !== 'skill.md'
}
