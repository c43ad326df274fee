import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { sharedDirectory } from '../support/temporary-directory.js'
import { type Block, extractBlocks, pairOutputs, placeOf, type Trial } from './docs-blocks.js'
import { tryCommands } from './docs-commands.js'
import { tryConfig } from './docs-configs.js'
import { checkBrackets, checkContainerfile, checkUnit, checkYaml } from './docs-files.js'
import { type Programs, runPrograms } from './docs-programs.js'
import { printed, root } from './run.js'
import { listFiles } from './source-tree.js'

const timeout = 600_000
const elsewhere = sharedDirectory()

/** The programs of both parts: starting the compiler twice takes longer than the second part itself. */
const code: Block[] = []
let running: Promise<Programs> | undefined
const runAll = (): Promise<Programs> => (running ??= runPrograms('.build/docs', code, elsewhere))

describe('the documents', { timeout }, () => {
  // DOCS=guides npm test -- house/docs: only the pages whose path contains "guides".
  const only = process.env['DOCS'] ?? ''
  const files = ['README.md', 'CONTRIBUTING.md', ...listFiles('docs', /\.md$/)].filter(
    (file) => existsSync(join(root, file)) && file.includes(only),
  )
  const trials = pairOutputs(
    files.flatMap((file) => extractBlocks(file, readFileSync(join(root, file), 'utf8'))),
  )
  code.push(...trials.map(({ block }) => block).filter(({ language }) => isProgram(language)))
  let programs: Programs

  beforeAll(async () => {
    programs = await runAll()
  }, timeout)

  it.skipIf(only !== '')('begin with a README', () => {
    expect(files).toContain('README.md')
  })

  for (const trial of trials) {
    it(`work in ${placeOf(trial.block)} (${trial.block.language || 'no language'})`, async () => {
      await tryBlock(trial, programs)
    })
  }
})

describe('the test of a code block', { timeout }, () => {
  const made = {
    wrongType: block('ts', `import { createTool } from 'capstan'\n\nconst made: number = createTool\n`),
    throws: block('js', `throw new Error('it broke')\n`),
    prints: block(
      'ts',
      `import { toolKinds } from 'capstan/tool'\nconst kinds: number = toolKinds.length\nconsole.log('kinds', kinds > 0)\n`,
    ),
    modern: block('mjs', `import { readdir } from 'node:fs/promises'\nconsole.log(await readdir('.'))\n`),
    unusedName: block('ts', 'const unused = 1\nexport {}\n'),
    throwsLater: block('js', `setTimeout(() => { throw new Error('it broke later') })\n`),
    exits: block('js', `process.exit(3)\n`),
    neverSettles: block('mjs', 'await new Promise(() => {})\n'),
    leavesState: block('mjs', `process.env.LEFT = 'behind'\nprocess.exitCode = 4\n`),
    seesNoState: block('mjs', 'console.log(process.env.LEFT, process.exitCode)\n'),
    printsLater: block('js', `setTimeout(() => console.log('later'), 50)\n`),
  }
  code.push(...Object.values(made))
  let programs: Programs

  beforeAll(async () => {
    programs = await runAll()
  }, timeout)

  const attempt = (each: Block, output?: string) =>
    tryBlock(
      output === undefined ? { block: each } : { block: each, output: block('text', output, 'output') },
      programs,
    )

  it('compiles and runs code against this package, in an empty directory', async () => {
    await attempt(made.prints, 'kinds true\n')
    await attempt(made.modern, '[]\n')
    await attempt(made.unusedName)
  })

  it('fails on a wrong type, and names its line in the document', async () => {
    await expect(attempt(made.wrongType)).rejects.toThrow(
      `made-up.md:${made.wrongType.line + 3}: error TS2322`,
    )
  })

  it('fails when the code throws', async () => {
    await expect(attempt(made.throws)).rejects.toThrow('it broke')
    await expect(attempt(made.throwsLater)).rejects.toThrow('it broke later')
  })

  it('fails when the code ends with an exit code, or never', async () => {
    await expect(attempt(made.exits)).rejects.toThrow('exit code 3')
    await expect(attempt(made.leavesState)).rejects.toThrow('exit code 4')
    await expect(attempt(made.neverSettles)).rejects.toThrow('never settles')
  })

  it('waits for the end of each program, and passes nothing on to the next', async () => {
    await attempt(made.printsLater, 'later\n')
    await attempt(made.seesNoState, 'undefined undefined\n')
  })

  it('fails when the code prints something else than the document says', async () => {
    await expect(attempt(made.prints, 'kinds false\n')).rejects.toThrow('kinds false')
  })

  it('parses JSON', async () => {
    await attempt(block('json', '{ "a": [1] }\n'))
    await expect(attempt(block('json', '{ a: 1 }\n'))).rejects.toThrow('made-up.md')
  })

  it('loads a configuration, and compares its messages', async () => {
    await attempt(block('acl', 'max_tool_rounds = 3\nmemory_dir = env("HERE")\n'))
    await attempt(block('acl', 'colour = 3\n'), 'line 1, column 1: unknown field "colour" is ignored\n')
    await expect(attempt(block('acl', 'colour = 3\n'))).rejects.toThrow('unknown field "colour"')
    await expect(attempt(block('acl', 'max_tool_rounds = \n'))).rejects.toThrow('Failed to parse ACL')
    await expect(attempt(block('acl', 'max_tool_rounds = 3\n'), 'a warning\n')).rejects.toThrow('a warning')
  })

  it('parses YAML, and looks for steps in a workflow', async () => {
    await attempt(block('yaml', 'jobs:\n  a:\n    steps:\n      - run: npm test\n'))
    await expect(attempt(block('yaml', 'a: [1\n'))).rejects.toThrow()
    await expect(attempt(block('yaml', 'jobs:\n  a:\n    steps:\n      - name: x\n'))).rejects.toThrow(
      'either "run"',
    )
  })

  it('checks the instructions of a Containerfile', async () => {
    await attempt(block('containerfile', '# base\nFROM node:22\nRUN a \\\n && b\nCMD ["node"]\n'))
    await expect(attempt(block('containerfile', 'RUN a\n'))).rejects.toThrow('must be FROM')
    await expect(attempt(block('containerfile', 'FROM a\nRUNN a\n'))).rejects.toThrow('"RUNN"')
    await expect(attempt(block('containerfile', "FROM a\nCMD ['node']\n"))).rejects.toThrow('JSON')
  })

  it('checks a unit of systemd', async () => {
    await attempt(block('ini', '[Service]\nExecStart=/bin/true\n'))
    await expect(attempt(block('ini', '[Service]\n'))).rejects.toThrow('ExecStart')
  })

  it('fails for an unknown command', async () => {
    await attempt(block('sh', '# All of it.\nnpm test\nnpm run build   # when sources have changed\n'))
    await attempt(block('sh', 'npm test -- house/docs\n'))
    await expect(attempt(block('sh', 'npm test -- no-such-test\n'))).rejects.toThrow(
      'No file of tests matches',
    )
    await expect(attempt(block('sh', 'npm run bench -- nothing\n'))).rejects.toThrow(
      'There is no bench/nothing.bench.mjs',
    )
    await expect(attempt(block('sh', 'npm test\nrm -rf build\n'))).rejects.toThrow(
      'No test tries the command "rm -rf build"',
    )
  })

  it('compares no output that it has not seen', async () => {
    await expect(attempt(block('sh', 'npm test\n'), '1 passed\n')).rejects.toThrow('cannot be checked')
  })

  it('ignores prose', async () => {
    for (const language of ['text', 'diff', 'mermaid']) await attempt(block(language, 'anything\n'))
  })

  it('fails on a block without a language, with an unknown one, or with an unknown word after it', async () => {
    await expect(attempt(block('', 'x\n'))).rejects.toThrow('has no language')
    await expect(attempt(block('ruby', 'x\n'))).rejects.toThrow('"ruby"')
    await expect(attempt(block('ts', 'x\n', 'ignore'))).rejects.toThrow('"ts ignore"')
  })
})

describe('the Markdown parser', () => {
  it('returns language, words, line and code of each block', () => {
    const blocks = extractBlocks('a.md', 'Text\n\n```ts\nconst a = 1\n\n  a\n```\n\n~~~text output\nb\n~~~\n')
    expect(blocks).toEqual([
      { file: 'a.md', line: 3, language: 'ts', words: [], code: 'const a = 1\n\n  a\n' },
      { file: 'a.md', line: 9, language: 'text', words: ['output'], code: 'b\n' },
    ])
  })

  it('reads fences inside a longer fence, or inside one of the other kind, as text', () => {
    const longer = extractBlocks('a.md', '````text\n```ts\na\n```\n````\n```js\nb\n```\n')
    expect(longer.map(({ language, code }) => [language, code])).toEqual([
      ['text', '```ts\na\n```\n'],
      ['js', 'b\n'],
    ])
    expect(extractBlocks('a.md', '~~~text\n```\n~~~\n').map(({ code }) => code)).toEqual(['```\n'])
  })

  it('removes the indentation of lists and the marks of quotations, and nothing more', () => {
    const markdown =
      '1. One\n\n   ```ts\n   if (a) {\n     b()\n   }\n\n   ```\n- ```js\n  c\n  ```\n> ```json\n> {\n>   "d": 1 }\n> ```\n'
    expect(extractBlocks('a.md', markdown).map(({ language, code }) => [language, code])).toEqual([
      ['ts', 'if (a) {\n  b()\n}\n\n'],
      ['js', 'c\n'],
      ['json', '{\n  "d": 1 }\n'],
    ])
  })

  it('finds blocks without a language, and ignores backticks in a line', () => {
    expect(extractBlocks('a.md', '```\na\n```\n').map(({ language }) => language)).toEqual([''])
    expect(extractBlocks('a.md', 'Write ```ts for it.\n```ts``` is a fence.\n')).toEqual([])
  })

  it('reads Windows line endings', () => {
    expect(extractBlocks('a.md', '```ts\r\na\r\n```\r\n')[0]?.code).toBe('a\n')
  })

  it('rejects a block that never ends', () => {
    expect(() => extractBlocks('a.md', 'Text\n```ts\na\n')).toThrow(
      'a.md:2 opens a code block that is never closed',
    )
  })

  it('assigns an output to the block before it, and rejects one that has none', () => {
    const [code, output] = extractBlocks('a.md', '```js\na\n```\nIt prints\n```text output\nb\n```\n')
    expect(pairOutputs([code, output].flatMap((each) => each ?? []))).toEqual([{ block: code, output }])
    expect(() => pairOutputs(output === undefined ? [] : [output])).toThrow(
      'a.md:5 shows the output of nothing',
    )
  })
})

async function tryBlock({ block, output }: Trial, programs: Programs): Promise<void> {
  const info = [block.language, ...block.words].join(' ')
  if (info === '')
    throw new Error(`${placeOf(block)} has no language: say "text" when it is neither code nor a command`)
  const printedText = await attemptBlock(info, block, programs)
  if (output === undefined) {
    if (info === 'acl' && printedText)
      throw new Error(`${placeOf(block)} is not accepted silently: ${printedText}`)
    return
  }
  if (printedText === undefined)
    throw new Error(`The output in ${placeOf(output)} cannot be checked: nothing is run for it`)
  expect(printedText.trim(), `what ${placeOf(block)} prints, against ${placeOf(output)}`).toBe(
    output.code.trim(),
  )
}

async function attemptBlock(info: string, block: Block, programs: Programs): Promise<string | undefined> {
  switch (info) {
    case 'ts':
    case 'js':
    case 'mjs':
      return outputOf(block, programs)
    case 'json':
      return void parseJson(block)
    case 'sh':
      return tryCommands(block.code)
    case 'acl':
      return tryConfig(block.code)
    case 'yaml':
      return void checkYaml(block.code)
    case 'lua':
      return void checkBrackets(block.code, '--')
    case 'elisp':
      return void checkBrackets(block.code, ';')
    case 'containerfile':
      return void checkContainerfile(block.code)
    case 'ini':
      return void (await checkUnit(block.code))
    // test/python runs them.
    case 'python':
    case 'text':
    case 'diff':
    case 'mermaid':
      return undefined
    default:
      throw new Error(
        `${placeOf(block)} is marked "${info}", which no test knows: see test/house/docs.test.ts`,
      )
  }
}

function outputOf(block: Block, programs: Programs): string {
  expect(programs.complaintsAbout(block).join('\n'), `what the compiler says about ${placeOf(block)}`).toBe(
    '',
  )
  const outcome = programs.outcomeOf(block)
  if (outcome.code !== 0) throw new Error(`${placeOf(block)} fails: ${printed(outcome)}`)
  return outcome.stdout
}

function parseJson(block: Block): unknown {
  try {
    return JSON.parse(block.code)
  } catch (cause) {
    throw new Error(`${placeOf(block)} is not JSON: ${cause}`, { cause })
  }
}

function isProgram(language: string): boolean {
  return ['ts', 'js', 'mjs'].includes(language)
}

let lines = 0

/** A block as a document would hold it; each is at a line of its own. */
function block(language: string, code: string, ...words: string[]): Block {
  lines += 100
  return { file: 'made-up.md', line: lines, language, words, code }
}
