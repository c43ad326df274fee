import { lookInside } from '../workspace/files/quick-look.js'

const maxFiles = 200
const deepest = 4

/** Lists the other files in the folder of a skill, by relative path: only those that would also be copied with it. */
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

/** Whether a file in a skill's folder is not the skill's text itself. */
export function isAttached(path: string): boolean {
  return path.toLowerCase() !== 'skill.md'
}
