import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commandTable } from '../../src/cli/command-table.js'
import { exitCodes } from '../../src/cli/exit-codes.js'
import { keyedProviders } from '../../src/cli/setup/known-models.js'
import { extractBlocks } from '../house/docs-blocks.js'
import { root as packageRoot } from '../house/run.js'
import { openPlace } from './drive.js'

const page = readFileSync(join(packageRoot, 'docs/command.md'), 'utf8')
const shown = extractBlocks('docs/command.md', page).filter(({ code }) => code.startsWith('$ '))

describe('the page about the command', () => {
  it.each(shown.map((block) => [block.line, block] as const))(
    'shows the real output in line %i',
    async (_, block) => {
      const { root, env, home } = await openPlace({ 'engine.js': 'export const speed = 9\n' })
      const bin = join(home, 'bin')
      await mkdir(bin, { recursive: true })
      const command = join(bin, 'capstan')
      await writeFile(
        command,
        `#!/bin/sh\nexec "${process.execPath}" "${join(packageRoot, 'dist/cli/main.js')}" "$@"\n`,
      )
      await chmod(command, 0o755)
      let transcript = ''
      for (const line of block.code.split('\n').filter((each) => each.startsWith('$ '))) {
        const { code, output } = await sh(line.slice(2), root, { ...env, PATH: `${bin}:${env['PATH']}` })
        transcript += `${line}\n${output}${code === 0 ? '' : `[exit ${code}]\n`}`
      }
      const plain = transcript
        .replaceAll(root, '/project')
        .replace(/^no language model is configured.*\n/gm, '')
        .replace(/ \(\d+\.\d s\)$/gm, '')
      expect(plain).toBe(block.code)
    },
  )

  it('names every command, option, exit code and key', async () => {
    const missing: string[] = []
    const need = (what: string, pattern: RegExp): void => {
      if (!pattern.test(page)) missing.push(what)
    }
    for (const { name, load } of commandTable) {
      need(name, new RegExp(`capstan ${name}\\b`))
      for (const option of (await load()).options)
        need(`${name} --${option.name}`, new RegExp(`--${option.name}\\b`))
    }
    for (const code of Object.values(exitCodes))
      need(`exit code ${code}`, new RegExp(`^\\| .*\\b${code}\\b`, 'm'))
    for (const { variables, provider, model } of keyedProviders)
      for (const name of variables)
        need(name, new RegExp(`^\\| .*\`${name}\`.* \\| \`${provider}/${model}\` \\|$`, 'm'))
    expect(missing).toEqual([])
  })
})

function sh(
  line: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    // One after the other, as a terminal shows them.
    execFile('/bin/sh', ['-c', `{ ${line}\n} 2>&1`], { cwd, env }, (error, stdout) => {
      if (error !== null && typeof error.code !== 'number') reject(error)
      else resolve({ code: Number(error?.code ?? 0), output: stdout })
    }).stdin?.end()
  })
}
