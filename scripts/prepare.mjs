// npm runs this after every install of the repository's own dependencies, and before it packs a git dependency. Only
// the second needs dist/: a contributor's `npm ci` must stay quick, and every command that needs dist/ builds it.
import { spawnSync } from 'node:child_process'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

// npm sets INIT_CWD to the directory in which the user called it. For a git dependency that is the user's project, and
// this copy is a temporary clone outside it.
const calledFrom = process.env['INIT_CWD']
if (calledFrom !== undefined && isOutside(calledFrom)) {
  const build = [join(root, 'scripts/capstan.mjs'), 'build']
  const { status } = spawnSync(process.execPath, build, { stdio: 'inherit', cwd: root })
  process.exitCode = status ?? 1
}

/** @param {string} directory */
function isOutside(directory) {
  const path = relative(root, directory)
  return path.startsWith('..') || path === directory
}
