// `edit` and `patch` on a real file: each call reads, checks and replaces it.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { editTool, patchTool } from 'capstan/toolbox'
import { interleave } from '../measure.mjs'
import { timingArea } from '../report.mjs'

const lines = 1_000

/**
 * @param {string} root
 * @param {import('capstan/tool').ToolRuntime} runtime
 * @param {number} seconds
 */
export async function measureChanges(root, runtime, seconds) {
  const text = Array.from({ length: lines }, (_, at) => `line ${at} of a file that is changed\n`).join('')
  for (const name of ['plain.txt', 'edit.txt', 'patch.txt']) writeFileSync(join(root, name), text)
  const states = ['of a file that is changed', 'of a file that was changed']
  const flip = (/** @type {number} */ turn) =>
    /** @type {const} */ ([states[turn % 2], states[(turn + 1) % 2]])
  const turns = { plain: 0, edit: 0, patch: 0 }
  const call = async (
    /** @type {import('capstan/tool').AnyGovernedTool} */ tool,
    /** @type {Record<string, unknown>} */ args,
  ) => {
    const envelope = await tool.execute(args, { runtime })
    if (envelope.type === 'error') throw new Error(envelope.error_text)
  }
  const timings = await interleave(
    [
      {
        name: 'read, replace, write',
        times: 1,
        run: () => {
          const [from, to] = flip(turns.plain++)
          const path = join(root, 'plain.txt')
          writeFileSync(path, readFileSync(path, 'utf8').replace(`line 500 ${from}`, `line 500 ${to}`))
        },
      },
      {
        name: 'edit',
        times: 1,
        run: () => {
          const [from, to] = flip(turns.edit++)
          return call(editTool, {
            file_path: 'edit.txt',
            old_string: `line 500 ${from}`,
            new_string: `line 500 ${to}`,
          })
        },
      },
      {
        name: 'patch',
        times: 1,
        run: () => {
          const [from, to] = flip(turns.patch++)
          const diff = `@@ -500,3 +500,3 @@\n line 499 ${states[0]}\n-line 500 ${from}\n+line 500 ${to}\n line 501 ${states[0]}\n`
          return call(patchTool, { file_path: 'patch.txt', diff })
        },
      },
    ],
    { seconds },
  )
  return timingArea(
    'Changing a file',
    `One line of ${lines}; ratio to doing it with node:fs, unchecked and not in one step.`,
    timings,
  )
}
