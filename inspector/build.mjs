// Bundles the inspector's page: one script, one style sheet and one document, which the server serves under /inspect/.
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { breakLines } from '../scripts/break-lines.mjs'

const folder = import.meta.dirname

/** Returns the chunks, with the libraries in them. @param {string} target the directory of the built page */
export async function buildInspector(target) {
  mkdirSync(target, { recursive: true })
  const build = await rolldown({
    input: join(folder, 'src/main.tsx'),
    platform: 'browser',
    // The page shares the client and a few functions with the runtime, whose imports name the compiled files.
    // The result does not depend on where a link to node_modules leads.
    resolve: { extensionAlias: { '.js': ['.ts', '.tsx', '.js'] }, symlinks: false },
    cwd: folder,
    transform: { target: 'es2022' },
    // Its warning about slow callbacks would stop the build on a busy machine.
    checks: { bundlerTimings: false },
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(log.message)
    },
  })
  const { output } = await build.write({
    file: join(target, 'app.js'),
    format: 'esm',
    // Readable, like everything that is published.
    minify: false,
    comments: false,
  })
  await build.close()
  // Some libraries are published in one line.
  breakLines(join(target, 'app.js'))
  copyFileSync(join(folder, 'page.html'), join(target, 'index.html'))
  copyFileSync(join(folder, 'icon.svg'), join(target, 'icon.svg'))
  copyFileSync(join(folder, 'styles.css'), join(target, 'app.css'))
  return output.filter((file) => file.type === 'chunk')
}
