import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { type Block, placeOf } from './docs-blocks.js'
import { type Outcome, root, runNode, runTsc } from './run.js'

/** Blocks of code as programs: what the compiler says about each, and how it ended. */
export type Programs = {
  complaintsAbout(block: Block): readonly string[]
  outcomeOf(block: Block): Outcome
}

/**
 * Writes blocks of code below a folder of the package (so that `capstan` means this package), compiles those in
 * TypeScript in one run of the compiler, and runs all that compile. Examples may write files, so each runs in an empty
 * directory of its own below `elsewhere`.
 */
export async function runPrograms(
  folder: string,
  blocks: readonly Block[],
  elsewhere: string,
): Promise<Programs> {
  rmSync(join(root, folder), { recursive: true, force: true })
  for (const block of blocks) write(posix.join(folder, pathOf(block)), block.code)
  const typed = blocks.filter(({ language }) => language === 'ts')
  const complaints = typed.length > 0 ? await compile(folder, typed) : new Map<Block, string[]>()
  const outcomes = new Map<Block, Outcome>()
  let left = blocks.filter((block) => !complaints.has(block))
  while (left.length > 0) {
    const ended = await runTogether(
      left.map((block) => ({
        script: join(root, folder, scriptPathOf(block)),
        cwd: mkdtempSync(join(elsewhere, 'block-')),
      })),
    )
    for (const [at, outcome] of ended.entries()) {
      const block = left[at]
      if (block !== undefined) outcomes.set(block, outcome)
    }
    left = left.slice(ended.length)
  }
  return {
    complaintsAbout: (block) => complaints.get(block) ?? [],
    outcomeOf(block) {
      const outcome = outcomes.get(block)
      if (outcome === undefined) throw new Error(`${placeOf(block)} was not run`)
      return outcome
    },
  }
}

/**
 * Runs programs in one process (docs-runner.mjs), up to the first that ends the process. Returns how each that ran
 * ended.
 */
async function runTogether(
  programs: readonly { readonly script: string; readonly cwd: string }[],
): Promise<Outcome[]> {
  const mark = `end-${randomUUID()}`
  const runner = join(import.meta.dirname, 'docs-runner.mjs')
  const whole = await runNode([runner, JSON.stringify({ programs, mark })], { timeout: 600_000 })
  const [stdout, stderr] = [whole.stdout, whole.stderr].map((text) =>
    text.split(new RegExp(`${mark} (\\d+)\\n`)),
  )
  const outcomes = programs.flatMap((_, at): Outcome[] => {
    const code = stdout?.[2 * at + 1]
    if (code === undefined) return []
    return [{ code: Number(code), stdout: stdout?.[2 * at] ?? '', stderr: stderr?.[2 * at] ?? '' }]
  })
  if (outcomes.length === programs.length) {
    if (whole.code !== 0) throw new Error(`The runner of the examples failed: ${whole.stderr}`)
    return outcomes
  }
  return [...outcomes, { code: whole.code, stdout: stdout?.at(-1) ?? '', stderr: stderr?.at(-1) ?? '' }]
}

async function compile(folder: string, blocks: readonly Block[]): Promise<Map<Block, string[]>> {
  const settings = {
    extends: `${posix.relative(folder, '.')}/tsconfig.json`,
    compilerOptions: {
      module: 'nodenext',
      types: ['node'],
      noUnusedLocals: false,
      allowJs: false,
      checkJs: false,
      noEmit: false,
      rootDir: '.',
      outDir: 'out',
    },
    include: ['**/*.ts'],
    exclude: ['out'],
  }
  write(posix.join(folder, 'tsconfig.json'), JSON.stringify(settings, null, 2))
  const { code, stdout, stderr } = await runTsc(['-p', posix.join(folder, 'tsconfig.json')])
  const complaints = new Map<Block, string[]>()
  let last: string[] | undefined
  for (const line of `${stdout}${stderr}`.split('\n').filter((each) => each.trim() !== '')) {
    const [, path = '', row = '', rest = ''] = /^(.+?)\((\d+),\d+\): (.*)$/.exec(line) ?? []
    const block = blocks.find((each) => posix.join(folder, pathOf(each)) === path)
    if (block !== undefined) {
      last = complaints.get(block) ?? []
      complaints.set(block, last)
      last.push(`${block.file}:${block.line + Number(row)}: ${rest}`)
    } else if (last !== undefined && line.startsWith(' ')) last.push(line)
    else throw new Error(`The examples cannot be compiled: ${line}`)
  }
  if (code !== 0 && complaints.size === 0) throw new Error(`The compiler failed with code ${code}`)
  return complaints
}

/** Each block has a path of its own, which says where it comes from. */
function pathOf(block: Block): string {
  return `${placeOf(block).replace(/\.md:/, '-')}.${block.language}`
}

function scriptPathOf(block: Block): string {
  return block.language === 'ts' ? `out/${pathOf(block).replace(/\.ts$/, '.js')}` : pathOf(block)
}

function write(path: string, text: string): void {
  const full = join(root, path)
  mkdirSync(dirname(full), { recursive: true })
  writeFileSync(full, text)
}
