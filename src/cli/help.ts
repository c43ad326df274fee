import type { Command, CommandEntry, OptionSpec } from './command.js'
import { commandTable } from './command-table.js'

/** What `capstan --help` says. */
export function generalHelp(): string {
  return `capstan: an agent on this directory, with its hands held

Usage
  capstan                     an interactive session on this directory
  capstan run "PROMPT"        do it and end; nobody is asked
  capstan COMMAND --help      what a command takes, with examples

Commands
${table(commandTable.map(({ name, summary }) => [name, summary]))}

Options
${table([
  ['-h, --help', 'this text; behind a command, its own'],
  ['-V, --version', 'the version'],
])}

Model
  --model provider/model, else CAPSTAN_MODEL, else default_model of a configuration, else the model that stands for a key in the
  environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, …), else a server on this machine, else the offline one. "capstan doctor" says which.

Examples
  capstan run "What does this project do?"
  git diff | capstan run "Review this change"
  capstan run --allow "bash(npm test)" "Make the tests pass"
`
}

/** What `capstan NAME --help` says. */
export function commandHelp({ name, summary }: CommandEntry, command: Command): string {
  const { usage, about, actions, options, examples } = command
  const sections = [
    `capstan ${name}: ${summary}`,
    `Usage\n${usage.map((form) => `  capstan ${name}${form === '' ? '' : ` ${form}`}`).join('\n')}`,
    about,
    actions && `Actions\n${table(Object.entries(actions))}`,
    `Options\n${table([...options.map(optionRow), ['-h, --help', 'this text']])}`,
    examples.length > 0 &&
      `Examples\n${examples.map(({ line, says }) => `  # ${says}\n  ${line}`).join('\n')}`,
  ]
  return `${sections.filter((section) => section !== undefined && section !== false).join('\n\n')}\n`
}

function optionRow({ name, short, value, repeatable, choices, summary }: OptionSpec): [string, string] {
  const shown = choices?.join('|') ?? value
  const left = `${short === undefined ? '' : `-${short}, `}--${name}${shown === undefined ? '' : ` <${shown}>`}`
  return [left, repeatable === true ? `${summary}; may be given again` : summary]
}

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.min(26, Math.max(...rows.map(([left]) => left.length)))
  return rows
    .map(([left, right]) =>
      left.length > width
        ? `  ${left}\n  ${' '.repeat(width)}  ${right}`
        : `  ${left.padEnd(width)}  ${right}`,
    )
    .join('\n')
}
