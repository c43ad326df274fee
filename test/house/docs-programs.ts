import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { type Block, placeOf } from './docs-blocks.js'
import { root, runTsc } from './run.js'

/** Blocks of code as files: where each is run from, and what the compiler says about it. */
export type Programs = {
  scriptOf(block: Block): string
  complaintsAbout(block: Block): readonly string[]
}

/**
 * Writes blocks of code below a folder of the package (so that `capstan` means this package) and compiles those in TypeScript,
 * all in one run of the compiler.
 */
export async function preparePrograms(folder: string, blocks: readonly Block[]): Promise<Programs> {
  rmSync(join(root, folder), { recursive: true, force: true })
  for (const block of blocks) write(posix.join(folder, pathOf(block)), block.code)
  const typed = blocks.filter(({ language }) => language === 'ts')
  const complaints = typed.length > 0 ? await compile(folder, typed) : new Map<Block, string[]>()
  return {
    scriptOf: (block) => join(root, folder, scriptPathOf(block)),
    complaintsAbout: (block) => complaints.get(block) ?? [],
  }
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

/** Each block has a path of its own, which tells where it comes from. */
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
