import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { type InputWish, readInput } from '../headless/read-input.js'
import type { OutputFormat } from '../headless/run-headless.js'
import { type Io, write } from '../io.js'
import { sessionFlags } from '../setup/session-flags.js'

const formats = ['text', 'json', 'stream-json'] as const satisfies OutputFormat[]

export const command: Command = {
  usage: ['[options] "PROMPT"', '[options] - < FILE'],
  about: `Nobody is asked: what needs a person is refused and listed at the end, with the rules that would allow it. What is piped in goes
along with the prompt; "-" instead of a prompt takes all of it from there.

The exit code tells the outcome: 0 done, 1 failed, 2 called wrongly, 3 not all was done (calls were refused, checks failed), 4 a limit was
met, 5 no model is configured or it did not answer, 130 cancelled.`,
  options: [
    {
      name: 'output-format',
      value: 'format',
      choices: formats,
      summary: 'the answer as text, one JSON object, or events as lines of JSON',
    },
    { name: 'json', summary: 'the same as --output-format stream-json' },
    ...sessionFlags,
    { name: 'verify', summary: 'done only when the checks that this project offers pass' },
    { name: 'stdin', summary: 'wait for standard input to end, however long it takes' },
    { name: 'no-stdin', summary: 'do not look at standard input' },
    { name: 'verbose', short: 'v', summary: 'tell on standard error what is done' },
    { name: 'quiet', short: 'q', summary: 'tell nothing but the answer' },
  ],
  examples: [
    { line: 'capstan run "What does this project do?"', says: 'a question; reading needs no permission' },
    { line: 'git diff | capstan run "Review this change"', says: 'something piped in' },
    {
      line: 'capstan run --mode accept-edits --allow "bash(npm test)" "Make the tests pass"',
      says: 'edits files, and runs one command without asking',
    },
    {
      line: 'capstan run --json "List the tools" | jq -r .type',
      says: 'everything that happens, as lines of JSON',
    },
    {
      line: 'capstan run --continue "And now the docs"',
      says: 'goes on with the newest session of this directory',
    },
  ],
  async run(args, io) {
    const format = formatOf(args)
    const prompt = await promptOf(args, io)
    const { runHeadless } = await import('../headless/run-headless.js')
    return runHeadless(args, io, prompt, format)
  },
}

function formatOf(args: Args): OutputFormat {
  const named = formats.find((format) => format === args.value('output-format'))
  if (!args.has('json')) return named ?? 'text'
  if (named !== undefined && named !== 'stream-json')
    throw new UsageError(`--json and --output-format ${named} cannot be given together.`)
  return 'stream-json'
}

async function promptOf(args: Args, io: Io): Promise<string> {
  const words = args.positionals
  const fromInput = words.length === 0 || words.includes('-')
  const said = words
    .filter((word) => word !== '-')
    .join(' ')
    .trim()
  if (said === '' && io.isTTY.stdin)
    throw new UsageError('There is no prompt.', 'Give one: capstan run "What does this project do?"')
  const piped = await readInput(io, wishOf(args, fromInput))
  if (piped.gaveUp === true && !args.has('quiet'))
    await write(
      io.stderr,
      'note: standard input is open but nothing came on it, so it was left alone; --stdin waits for it, --no-stdin does not look\n',
    )
  const text = piped.text.trim()
  if (said === '' && text === '')
    throw new UsageError(
      'There is no prompt, and nothing came on standard input.',
      'Give one: capstan run "…"',
    )
  if (text === '') return said
  return said === '' ? text : `${said}\n\n<stdin>\n${piped.text.replace(/\n$/, '')}\n</stdin>`
}

function wishOf(args: Args, fromInput: boolean): InputWish {
  if (args.has('no-stdin')) return 'none'
  return fromInput || args.has('stdin') ? 'wanted' : 'offered'
}
