import type { Command, CommandEntry, OptionSpec } from '../command.js'

type Known = CommandEntry & { readonly command: Command }

/** Builds a static script that completes commands, actions and options without starting the command. */
export async function completionScript(
  shell: 'bash' | 'zsh' | 'fish',
  commands: readonly CommandEntry[],
): Promise<string> {
  const known = await Promise.all(
    commands.map(async (entry): Promise<Known> => ({ ...entry, command: await entry.load() })),
  )
  return { bash, zsh, fish }[shell](known)
}

function bash(known: readonly Known[]): string {
  const cases = known.map(
    ({ name, command }) => `    ${name})
      case "$previous" in
${valueCases(command)}
      esac
      words="${[...actionsOf(command), ...optionsOf(command)].join(' ')}" ;;`,
  )
  return `# bash completion of capstan
_capstan() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="\${COMP_WORDS[1]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${known.map(({ name }) => name).join(' ')} --help --version" -- "$current"))
    return
  fi
  case "$command" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _capstan capstan
`
}

/** Builds the completion of option values. For an option that accepts any text, the shell offers files. */
function valueCases({ options }: Command): string {
  const taking = options.filter(({ value }) => value !== undefined)
  const lines = taking.map(({ name, short, choices }) => {
    const pattern = short === undefined ? `--${name}` : `--${name}|-${short}`
    return choices === undefined
      ? `        ${pattern}) return ;;`
      : `        ${pattern}) COMPREPLY=($(compgen -W "${choices.join(' ')}" -- "$current")); return ;;`
  })
  return lines.length === 0 ? '        "") ;;' : lines.join('\n')
}

function zsh(known: readonly Known[]): string {
  const cases = known.map(({ name, command }) => {
    const { actions } = command
    const described = Object.entries(actions ?? {}).map(([action, summary]) =>
      describedForZsh(action, summary),
    )
    const specs = [
      ...command.options.map(optionForZsh),
      ...(actions === undefined ? [] : [`'1:action:_capstan_actions'`]),
      `'*:file:_files'`,
    ]
    const list = actions === undefined ? '' : `      capstan_actions=(${described.join(' ')})\n`
    return `    ${name})\n${list}      _arguments ${specs.join(' \\\n        ')} ;;`
  })
  return `#compdef capstan
# zsh completion of capstan
_capstan_actions() {
  _describe 'action' capstan_actions
}
_capstan() {
  local -a commands capstan_actions
  if (( CURRENT == 2 )); then
    commands=(${known.map(({ name, summary }) => `\n      ${describedForZsh(name, summary)}`).join('')}
    )
    _describe 'command' commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
  esac
}
compdef _capstan capstan
`
}

function describedForZsh(name: string, summary: string): string {
  return quoted(`${name}:${summary.replace(/[\\:]/g, '\\$&')}`)
}

function optionForZsh({ name, short, value, choices, repeatable, summary }: OptionSpec): string {
  // A bracket would end the description of the option.
  const about = `[${summary.replaceAll('[', '(').replaceAll(']', ')')}]`
  const taken = choices === undefined ? zshFiles[kindOf(value)] : `(${choices.join(' ')})`
  const tail = value === undefined ? about : `${about}:${value.replaceAll(':', '')}:${taken}`
  const again = repeatable === true ? '*' : ''
  return short === undefined
    ? quoted(`${again}--${name}${tail}`)
    : `${again === '' ? '' : quoted(again)}{-${short},--${name}}${quoted(tail)}`
}

const zshFiles = { files: '_files', directories: '_files -/', words: ' ' } as const

/** Returns what the shell offers for an option's value, by the value's placeholder. */
function kindOf(value: string | undefined): keyof typeof zshFiles {
  if (value === 'dir') return 'directories'
  return value === 'file' || value === 'file.acl' || value === 'place' ? 'files' : 'words'
}

function fish(known: readonly Known[]): string {
  const lines = known.flatMap(({ name, summary, command }) => {
    const here = quoted(`__capstan_is ${name}`)
    return [
      `complete -c capstan -f -n __capstan_begins -a ${name} -d ${quoted(summary)}`,
      ...Object.entries(command.actions ?? {}).map(
        ([action, about]) =>
          `complete -c capstan -f -n ${quoted(`__capstan_begins ${name}`)} -a ${action} -d ${quoted(about)}`,
      ),
      ...command.options.map(({ name: option, short, value, choices, summary: about }) => {
        const names = `-l ${option}${short === undefined ? '' : ` -s ${short}`}`
        const taken = choices === undefined ? fishFiles[kindOf(value)] : `-x -a ${quoted(choices.join(' '))}`
        return `complete -c capstan -n ${here} ${names}${value === undefined ? '' : ` ${taken}`} -d ${quoted(about)}`
      }),
    ]
  })
  return `# fish completion of capstan
function __capstan_is
  set -l words (commandline -opc)
  test (count $words) -ge 2; and test "$words[2]" = "$argv[1]"
end
function __capstan_begins
  set -l words (commandline -opc)
  test (count $words) -eq (math 1 + (count $argv)); and test "$words[2..]" = "$argv"
end
complete -c capstan -n __capstan_begins -l help -s h -d 'Show help'
complete -c capstan -n __capstan_begins -l version -s V -d 'Print the version'
${lines.join('\n')}
`
}

const fishFiles = {
  files: '-r -F',
  directories: "-x -a '(__fish_complete_directories)'",
  words: '-x',
} as const

function actionsOf({ actions = {} }: Command): string[] {
  return Object.keys(actions)
}

function optionsOf({ options }: Command): string[] {
  return [...options.map(({ name }) => `--${name}`), '--help']
}

/** Quotes a word with single quotes. Replaces apostrophes, because fish and POSIX shells escape them differently. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`
}
