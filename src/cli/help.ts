import type { Command, CommandEntry, OptionSpec } from './command.js'
import { commandTable } from './command-table.js'
import { type ExitCode, exitCodeMeanings } from './exit-codes.js'
import { wrapText } from './terminal/wrap.js'

/** The text of `capstan --help`. */
export function generalHelp(columns: number): string {
  return page(
    [
      paragraphs('capstan: an AI agent for this directory, sandboxed and permissioned.', columns),
      section('Usage', [
        ['capstan [options]', 'Start an interactive session in this directory'],
        ['capstan run "PROMPT"', 'Run one prompt non-interactively'],
        ['capstan COMMAND --help', 'Show usage, options, examples and exit codes of a command'],
      ]),
      section(
        'Commands',
        commandTable.map(({ name, summary }) => [name, summary]),
      ),
      section('Options', [
        ['-h, --help', 'Show help (also after a command)'],
        ['-V, --version', 'Print the version'],
      ]),
      {
        title: 'Model',
        body: paragraphs(modelText, columns - 2).map((line) => `  ${line}`),
      },
      {
        title: 'Examples',
        body: [
          '  capstan run "What does this project do?"',
          '  git diff | capstan run "Review this change"',
          '  capstan run --allow "bash(npm test)" "Make the tests pass"',
        ],
      },
      section('Exit codes', Object.entries(exitCodeMeanings)),
    ],
    columns,
  )
}

const modelText = `The model is the first of: --model provider/model, CAPSTAN_MODEL, default_model in the configuration, the default model for an API key
in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, …), a model server on this machine, the built-in offline model. "capstan doctor" prints
which one is used.`

/** The text of `capstan NAME --help`. */
export function commandHelp({ name, summary }: CommandEntry, command: Command, columns: number): string {
  const { usage, description = '', actions = {}, options, examples, exitCodes } = command
  return page(
    [
      paragraphs(`${summary}.`, columns),
      {
        title: 'Usage',
        body: usage.map((form) => `  capstan ${name}${form === '' ? '' : ` ${form}`}`),
      },
      paragraphs(description, columns),
      section('Actions', Object.entries(actions)),
      section('Options', [...options.map(optionRow), ['-h, --help', 'Show this help']]),
      {
        title: 'Examples',
        body: examples.flatMap(({ line, comment }) => [`  # ${comment}`, `  ${line}`]),
      },
      section('Exit codes', exitCodeRows(exitCodes)),
    ],
    columns,
  )
}

/** Exit codes of every command: success, failure, invalid arguments. */
const commonCodes: readonly ExitCode[] = [0, 1, 2]

function exitCodeRows(own: Command['exitCodes'] = {}): [string, string][] {
  return Object.entries(exitCodeMeanings).flatMap(([code, meaning]): [string, string][] => {
    const number = Number(code) as ExitCode
    if (own[number] === undefined && !commonCodes.includes(number)) return []
    return [[code, own[number] ?? meaning]]
  })
}

function optionRow({ name, short, value, repeatable, choices, summary }: OptionSpec): [string, string] {
  const shown = choices?.join('|') ?? value
  const left = `${short === undefined ? '' : `-${short}, `}--${name}${shown === undefined ? '' : ` <${shown}>`}`
  return [left, repeatable === true ? `${summary} (repeatable)` : summary]
}

type Row = readonly [string, string]
type Section = { readonly title: string; readonly rows: readonly Row[] }
type Part = Section | { readonly title: string; readonly body: readonly string[] } | readonly string[]

function section(title: string, rows: readonly Row[]): Section {
  return { title, rows }
}

/** Joins the parts that have content, with an empty line between them. */
function page(parts: readonly Part[], columns: number): string {
  const texts = parts.flatMap((part) => {
    if (!('title' in part)) return part.length === 0 ? [] : [part.join('\n')]
    const lines = 'rows' in part ? table(part.rows, columns) : part.body
    return lines.length === 0 ? [] : [[part.title, ...lines].join('\n')]
  })
  return `${texts.join('\n\n')}\n`
}

/** Wraps paragraphs, which are separated by empty lines. */
function paragraphs(text: string, columns: number): string[] {
  if (text === '') return []
  return text
    .split('\n\n')
    .flatMap((paragraph, at) => [
      ...(at === 0 ? [] : ['']),
      ...wrapText(paragraph.replaceAll('\n', ' '), columns),
    ])
}

/** Formats two columns. The right one is wrapped, and starts on a new line after a long left one. */
function table(rows: readonly Row[], columns: number): string[] {
  const width = Math.min(26, Math.max(0, ...rows.map(([left]) => left.length)))
  const margin = ' '.repeat(width + 4)
  return rows.flatMap(([left, right]) =>
    left.length > width
      ? [`  ${left}`, ...wrapText(margin + right, columns, margin)]
      : wrapText(`  ${left.padEnd(width)}  ${right}`, columns, margin),
  )
}
