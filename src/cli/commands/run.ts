import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { exitCodeMeanings } from '../exit-codes.js'
import { type InputMode, readInput } from '../headless/read-input.js'
import type { OutputFormat } from '../headless/run-headless.js'
import { type Io, write } from '../io.js'
import { sessionFlags } from '../setup/session-flags.js'

const formats = ['text', 'json', 'stream-json'] as const satisfies OutputFormat[]

export const command: Command = {
  usage: ['[options] "PROMPT"', '[options] - < FILE'],
  description: `No questions are asked: calls that need an approval are refused, and listed at the end with the rules that would allow them. Text from
standard input is added to the prompt; "-" instead of a prompt reads the prompt from standard input. The answer goes to standard output,
everything else to standard error.`,
  options: [
    {
      name: 'output-format',
      value: 'format',
      choices: formats,
      summary:
        'Print the answer as text, the result as one JSON object, or events as lines of JSON (default: text)',
    },
    { name: 'json', summary: 'Short for --output-format stream-json' },
    ...sessionFlags,
    { name: 'verify', summary: "Finish only when the project's checks pass" },
    {
      name: 'goal',
      value: 'text',
      summary: 'Work until this goal is reached; without a prompt it is the prompt',
    },
    {
      name: 'check',
      value: 'command',
      repeatable: true,
      summary: 'Command that must succeed for the goal; without one a model judges',
    },
    { name: 'goal-rounds', value: 'n', summary: 'Maximum rounds for the goal (default: 200)' },
    { name: 'goal-time', value: 'duration', summary: 'Maximum time for the goal (default: 1h)' },
    { name: 'goal-cost', value: 'amount', summary: 'Maximum cost for the goal, for example 2usd' },
    { name: 'stdin', summary: 'Wait for the end of standard input, without a time limit' },
    { name: 'no-stdin', summary: 'Do not read standard input' },
    { name: 'verbose', short: 'v', summary: 'Print each tool call on standard error' },
    { name: 'quiet', short: 'q', summary: 'Print only the answer' },
  ],
  examples: [
    {
      line: 'capstan run "What does this project do?"',
      comment: 'Ask a question; reading this directory needs no permission',
    },
    { line: 'git diff | capstan run "Review this change"', comment: 'Add standard input to the prompt' },
    {
      line: 'capstan run --mode accept-edits --allow "bash(npm test)" "Make the tests pass"',
      comment: 'Allow edits and one command',
    },
    {
      line: 'capstan run --allow "bash(npm test)" --goal "All tests pass" --check "npm test"',
      comment: 'Work until a command succeeds',
    },
    {
      line: 'capstan run --json "List the tools" | jq -r .type',
      comment: 'Print every event as a line of JSON',
    },
    {
      line: 'capstan run --continue "And now the docs"',
      comment: 'Resume the newest session of this directory',
    },
  ],
  exitCodes: exitCodeMeanings,
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
  const asked = words
    .filter((word) => word !== '-')
    .join(' ')
    .trim()
  const given = asked === '' ? (args.value('goal')?.trim() ?? '') : asked
  if (given === '' && io.isTTY.stdin)
    throw new UsageError('Missing argument: PROMPT', 'Usage: capstan run "What does this project do?"')
  const piped = await readInput(io, inputMode(args, fromInput))
  if (piped.timedOut === true && !args.has('quiet'))
    await write(
      io.stderr,
      'note: standard input is open but empty, and was ignored; use --stdin to wait for it, or --no-stdin to ignore it at once\n',
    )
  const text = piped.text.trim()
  if (given === '' && text === '')
    throw new UsageError(
      'Missing argument: PROMPT (standard input is empty, too)',
      'Usage: capstan run "What does this project do?"',
    )
  if (text === '') return given
  return given === '' ? text : `${given}\n\n<stdin>\n${piped.text.replace(/\n$/, '')}\n</stdin>`
}

function inputMode(args: Args, fromInput: boolean): InputMode {
  if (args.has('no-stdin')) return 'none'
  return fromInput || args.has('stdin') ? 'required' : 'optional'
}
