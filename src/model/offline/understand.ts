import type { JsonObject } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { findText, literal } from './find-text.js'
import { block, call, done, failureOf, filesIn, once, type Plan, undone } from './plan.js'
import { replaceText } from './replace-text.js'
import { matchSentence, sentencesOf, type Words } from './sentence.js'

/** A request with its plan; undefined if the request was not understood. */
export type Planned = { readonly sentence: string; readonly plan: Plan | undefined }

type Kind = {
  /** Examples for the help text. */
  readonly examples: readonly string[]
  /** Patterns of the whole sentence. A quoted text counts as one word. */
  readonly forms: readonly RegExp[]
  plan(parts: Words): Plan
}

const replace: Kind = {
  examples: ['replace "colour" by "color" in README.md', 'replace all "foo" with "bar" in src/a.ts'],
  forms: [
    /^(?:replace|change|rename) (?<all>all )?(?<from>\S+) (?:by|with|to) (?<to>\S+)(?: in (?:the )?(?:file )?(?<file>\S+))?$/i,
  ],
  plan: ({ from = '', to = '', file, all }) => replaceText({ from, to, file, everywhere: all !== undefined }),
}

const write: Kind = {
  examples: ['create notes.txt with "first line"'],
  forms: [/^(?:create|write) (?:the )?(?:file )?(?<file>\S+) with (?<text>\S+)$/i],
  plan: ({ file = '', text = '' }) =>
    once(
      call('write', { file_path: file, content: `${text}\n` }, `Writing ${file}.`),
      `writing ${file}`,
      (said) => done(`I wrote ${file}. ${said.trim()}`),
    ),
}

/** Counts the lines of a file with a pattern that matches every line. */
const countLines: Kind = {
  examples: ['count lines in README.md'],
  forms: [/^count (?:the )?lines (?:in|of) (?<path>\S+)$/i],
  plan: ({ path = '' }) =>
    once(
      call('grep', { pattern: '^', output_mode: 'count', path }, `Counting the lines of ${path}.`),
      `counting the lines of ${path}`,
      (text) => done(`${path} has ${/((?:at least )?\d+) match\(es\)/.exec(text)?.[1] ?? 0} lines.`),
    ),
}

const countFiles: Kind = {
  examples: ['how many *.ts files are there'],
  forms: [/^(?:how many|count) (?<pattern>\S*[*?]\S*) files(?: are there)?(?: in (?<path>\S+))?$/i],
  plan: ({ pattern = '', path }) =>
    once(
      call('glob', { pattern, ...omitUndefined({ path }) }, `Counting files that match ${pattern}.`),
      `counting files that match ${pattern}`,
      (text) => {
        const total = /of ((?:at least )?\d+) file\(s\) shown/.exec(text)?.[1] ?? 0
        return done(`There are ${total} files that match ${pattern}${inPlace(path)}.`)
      },
    ),
}

const countText: Kind = {
  examples: ['count TODO in src'],
  forms: [/^(?:count|how many times (?:does|is)) (?<what>.+?)(?: (?:occurs?|used))?(?: in (?<path>\S+))?$/i],
  plan: ({ what = '', path }) =>
    once(
      call(
        'grep',
        { pattern: literal(what), output_mode: 'count', ...omitUndefined({ path }) },
        `Counting "${what}"${inPlace(path)}.`,
      ),
      `counting "${what}"`,
      (text) => {
        const [, times, files] = /((?:at least )?\d+) match\(es\) in (\d+) file\(s\)/.exec(text) ?? []
        if (times === undefined) return done(`"${what}" does not occur${inPlace(path)}.`)
        return done(
          `"${what}" occurs ${times} times${inPlace(path)}, in ${files} ${files === '1' ? 'file' : 'files'}.`,
        )
      },
    ),
}

const gitStatus = gitKind('show git status', /^(?:show )?(?:the )?git status$/i, 'State of the repository', {
  command: 'status',
})
const gitDiff = gitKind('show the diff', /^show (?:the )?(?:git )?diff$/i, 'Changes that are not staged', {
  command: 'diff',
})
const gitBranch = gitKind('which branch is this', /^which branch is this$/i, 'Branches', {
  command: 'branch',
})
const gitLog = gitKind(
  'show the last 5 commits',
  /^show (?:the )?last (?<max_count>[1-9]\d?) commits$/i,
  'Latest commits',
  { command: 'log' },
)

function gitKind(example: string, form: RegExp, title: string, args: JsonObject): Kind {
  const what = title.toLowerCase()
  return {
    examples: [example],
    forms: [form],
    plan: ({ max_count }) =>
      once(
        call(
          'git',
          max_count === undefined ? args : { ...args, max_count: Number(max_count) },
          `Asking git: ${what}.`,
        ),
        `asking git for the ${what}`,
        (text) => done(`${title}:\n\n${block(text, 80)}`),
      ),
  }
}

/** Chooses the command by the files at the root of the project. */
const runTests: Kind = {
  examples: ['run the tests'],
  forms: [/^run (?:the |all )?tests$/i],
  plan: () => (results) => {
    const [listed, ...rest] = results
    if (listed === undefined) return call('ls', { path: '.' }, 'Finding out how this project runs its tests.')
    if (listed.failed) return failureOf(listed, 'looking at the workspace')
    const names = new Set(listed.text.split('\n').map((line) => line.trim().split(/\s+/).at(-1)))
    const command = testCommands.find(([file]) => names.has(file))?.[1]
    if (command !== undefined) return run(command)(rest)
    const files = testCommands.map(([file]) => file).join(', ')
    return undone(
      `I see no way to run the tests here: there is none of ${files}. Name the command: run \`…\`.`,
    )
  },
}

const testCommands: readonly (readonly [file: string, command: string])[] = [
  ['package.json', 'npm test'],
  ['Cargo.toml', 'cargo test'],
  ['go.mod', 'go test ./...'],
  ['pyproject.toml', 'python -m pytest'],
  ['Makefile', 'make test'],
]

const runCommand: Kind = {
  examples: ['run npm test', 'run `git stash list`'],
  forms: [/^(?:run|execute) (?<command>.+)$/i],
  plan: ({ command = '' }) => run(command),
}

function run(command: string): Plan {
  return once(call('bash', { command }, `Running ${command}.`), `running ${command}`, (text) => {
    const hasFailed = /^\[(?:Exit code: [1-9]\d*|Ended by .*)\]$/m.test(text)
    const said = text.trim() === '' ? 'It printed nothing.' : `It printed:\n\n${block(text, 40, true)}`
    return hasFailed
      ? undone(`I ran ${command}, and it failed. ${said}`)
      : done(`I ran ${command}, and it succeeded. ${said}`)
  })
}

const listFiles: Kind = {
  examples: ['list *.json files', 'find files named *.md'],
  forms: [
    /^(?:list|find) (?:all )?(?:files (?:named|like) )?(?<pattern>\S*[*?]\S*)(?: files)?(?: in (?<path>\S+))?$/i,
  ],
  plan: ({ pattern = '', path }) =>
    once(
      call('glob', { pattern, ...omitUndefined({ path }) }, `Listing files that match ${pattern}.`),
      `listing ${pattern}`,
      (text) =>
        done(
          filesIn(text).length === 0
            ? `There is no file that matches ${pattern}.`
            : `Files that match ${pattern}:\n\n${block(text, 60)}`,
        ),
    ),
}

const listDirectory: Kind = {
  examples: ['list src'],
  forms: [/^(?:ls|list)(?: (?:all |the )*files)?(?: in)?(?: (?<path>\S+))?$/i],
  plan: ({ path = '.' }) => {
    const name = path === '.' ? 'the workspace' : path
    return once(call('ls', { path }, `Listing ${name}.`), `listing ${path}`, (text) =>
      done(`In ${name}:\n\n${block(text, 60)}`),
    )
  },
}

/** Reads a file. If it does not exist at that path, searches for its name. */
const read: Kind = {
  examples: ['read README.md', 'show lines 10-20 of src/index.ts'],
  forms: [
    /^(?:read|open) (?:the )?(?:file )?(?<path>\S+)$/i,
    /^show (?:the )?(?:file )?(?<path>\S*[./]\S*)$/i,
    /^(?:read|show) (?:me )?lines? (?<first>\d{1,6})(?:(?:-| to )(?<last>\d{1,6}))? of (?<path>\S+)$/i,
  ],
  plan: ({ path = '', first, last = first }) => {
    const offset = Math.max(0, Number(first) - 1)
    const lines = first === undefined ? {} : { offset, limit: Math.max(1, Number(last) - offset) }
    const readFile = (file: string) => call('read', { file_path: file, ...lines }, `Reading ${file}.`)
    return (results) => {
      const latest = results.at(-1)
      if (latest === undefined) return readFile(path)
      if (latest.tool === 'read' && !latest.failed)
        return done(`${String(latest.args['file_path'])} says:\n\n${block(latest.text, 120)}`)
      if (results.length === 1 && isMissing(latest.text))
        return call(
          'glob',
          { pattern: `**/${path.split(/[/\\]/).at(-1)}` },
          `There is no ${path}; looking for a file of that name.`,
        )
      if (latest.tool !== 'glob' || latest.failed) return failureOf(latest, `reading ${path}`)
      const names = filesIn(latest.text)
      const [only] = names
      if (only === undefined) return undone(`There is no file ${path}, and no other file with that name.`)
      if (names.length === 1) return readFile(only)
      return undone(`There is no file ${path}. Which of these do you mean?\n\n${block(names.join('\n'), 20)}`)
    }
  },
}

function isMissing(text: string): boolean {
  return /no such|not found|does not exist|no file|ENOENT/i.test(text) && !/refus|denied/i.test(text)
}

const find: Kind = {
  examples: ['find createServer', 'where is "parse arguments" in src'],
  forms: [
    /^(?:find|search for|where is) (?:the )?(?<what>.+?)(?: (?:defined|used))?(?: in (?:the )?(?<path>\S+))?$/i,
  ],
  plan: ({ what = '', path }) => findText(what, path === 'project' ? undefined : path),
}

/** All kinds, specific ones first: "show the diff" must not be read as a file name. */
const kinds: readonly Kind[] = [
  ...[replace, write, countLines, countFiles, countText, gitStatus, gitDiff, gitLog, gitBranch],
  ...[runTests, runCommand, listFiles, listDirectory, read, find],
]

/** Returns the requests of a prompt, each with its plan if it is understood. */
export function understand(prompt: string): Planned[] {
  return sentencesOf(prompt).map((sentence) => ({ sentence, plan: planFor(sentence) }))
}

function planFor(sentence: string): Plan | undefined {
  for (const { forms, plan } of kinds)
    for (const form of forms) {
      const parts = matchSentence(form, sentence)
      if (parts !== undefined) return plan(parts)
    }
  return undefined
}

/** Returns the examples of all kinds of requests. */
export function examples(): string[] {
  return kinds.flatMap((kind) => kind.examples)
}

function inPlace(path: string | undefined): string {
  return path === undefined ? '' : ` in ${path}`
}
