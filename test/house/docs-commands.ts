import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { packageJson } from './package-entries.js'
import { printed, root, runNode } from './run.js'
import { isTest, listFiles } from './source-tree.js'

/**
 * A command that documents may show: which lines it is, and how such a line is tried. Gives what it printed, where it
 * is run.
 */
type Command = {
  readonly line: RegExp
  readonly attempt: (match: RegExpExecArray) => Promise<string | undefined> | string | undefined
}

const commands: readonly Command[] = [
  { line: /^npm start$/, attempt: () => (demonstration ??= startDemonstration()) },
  // This very run.
  { line: /^npm test$/, attempt: () => needScript('test') },
  {
    line: /^(?:UPDATE_(?:EXPORTS|GOLDEN)=1 )?npm test -- (\S+)$/,
    attempt: ([, filter = '']) => needTests(filter),
  },
  { line: /^npm install capstan(?: zod)?$/, attempt: () => needFile('test/house/package.test.ts') },
  { line: /^npm run bench(?: -- (.+))?$/, attempt: ([, areas = '']) => needBenchmarks(areas) },
  // What they do to the working tree is not for a test, or they take minutes; building has happened before it.
  {
    line: /^npm run (build|docs|format|fuzz|faults|coverage|test:\w+)$/,
    attempt: ([, script = '']) => needScript(script),
  },
  {
    line: /^npm run (coverage|test:times) -- (\S+)$/,
    attempt: ([, script = '', filter = '']) => {
      needScript(script)
      return needTests(filter)
    },
  },
  { line: /^npm run (test:matrix) -- \d+$/, attempt: ([, script = '']) => needScript(script) },
  { line: /^npm run (release) -- (?:--dry-run|version)$/, attempt: ([, script = '']) => needScript(script) },
]

/** Tries each line of a `sh` block and gives what they printed; throws when one fails or is not known. */
export async function tryCommands(code: string): Promise<string | undefined> {
  const outputs: (string | undefined)[] = []
  for (const line of commandLines(code)) outputs.push(await tryCommand(line))
  return outputs.includes(undefined) ? undefined : outputs.join('')
}

function commandLines(code: string): string[] {
  const withoutComments = code.split('\n').map((line) => line.replace(/(^|\s)#.*$/, '').trim())
  return withoutComments.filter((line) => line !== '')
}

async function tryCommand(line: string): Promise<string | undefined> {
  for (const command of commands) {
    const match = command.line.exec(line)
    if (match !== null) return command.attempt(match)
  }
  throw new Error(`No test tries the command "${line}": add it to the table in test/house/docs-commands.ts`)
}

/** Several documents show the same command. */
let demonstration: Promise<string> | undefined

async function startDemonstration(): Promise<string> {
  needScript('start')
  const outcome = await runNode(['scripts/capstan.mjs', 'start'])
  if (outcome.code !== 0 || outcome.stdout.trim() === '')
    throw new Error(`npm start failed: ${printed(outcome)}`)
  return outcome.stdout
}

function needBenchmarks(areas: string): undefined {
  needScript('bench')
  for (const area of areas.split(' ').filter((each) => each !== '')) {
    const file = `bench/${area}.bench.mjs`
    needFile(file)
    try {
      parseAst(readFileSync(join(root, file), 'utf8'))
    } catch (cause) {
      throw new Error(`${file} is not JavaScript: ${cause}`, { cause })
    }
  }
  return undefined
}

function needTests(filter: string): undefined {
  needScript('test')
  const files = ['src', 'test'].flatMap((folder) => listFiles(folder, /\.ts$/)).filter(isTest)
  if (!files.some((file) => file.includes(filter))) throw new Error(`No file of tests matches "${filter}"`)
  return undefined
}

function needScript(name: string): undefined {
  if (!Object.hasOwn(packageJson.scripts, name)) throw new Error(`package.json has no script "${name}"`)
  return undefined
}

function needFile(path: string): undefined {
  if (!existsSync(join(root, path))) throw new Error(`There is no ${path}`)
  return undefined
}
