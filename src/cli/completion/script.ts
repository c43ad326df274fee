import type { Command, CommandEntry } from '../command.js'

type Known = CommandEntry & { readonly command: Command }

/** The script that completes commands, their actions and options. It is made once and asks nothing of us while you type. */
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

/** What may stand behind an option; behind one that takes any text, files are offered. */
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
    const actions = Object.entries(command.actions ?? {}).map(([action, says]) =>
      quoted(`${action}:${plain(says)}`),
    )
    const specs = [
      ...command.options.map((option) => {
        const names = option.short === undefined ? `--${option.name}` : `{-${option.short},--${option.name}}`
        const value =
          option.value === undefined
            ? ''
            : `:${plain(option.value)}:${option.choices === undefined ? '_files' : `(${option.choices.join(' ')})`}`
        const again = option.repeatable === true ? '*' : ''
        const tail = quoted(`[${plain(option.summary)}]${value}`)
        return option.short === undefined
          ? `${quoted(again + names)}${tail}`
          : `${quoted(again)}${names}${tail}`
      }),
      actions.length > 0
        ? `'1:action:((${actions.map((each) => each.slice(1, -1).replaceAll(' ', '\\ ')).join(' ')}))'`
        : '',
      `'*:file:_files'`,
    ]
    return `    ${name})\n      _arguments ${specs.filter(Boolean).join(' \\\n        ')} ;;`
  })
  return `#compdef capstan
# zsh completion of capstan
_capstan() {
  if (( CURRENT == 2 )); then
    local -a commands
    commands=(${known.map(({ name, summary }) => `\n      ${quoted(`${name}:${plain(summary)}`)}`).join('')}
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

function fish(known: readonly Known[]): string {
  const lines = known.flatMap(({ name, summary, command }) => {
    const here = `__fish_seen_subcommand_from ${name}`
    return [
      `complete -c capstan -n __fish_use_subcommand -a ${name} -d ${quoted(plain(summary))}`,
      ...Object.entries(command.actions ?? {}).map(
        ([action, says]) => `complete -c capstan -n ${quoted(here)} -a ${action} -d ${quoted(plain(says))}`,
      ),
      ...command.options.map((option) => {
        const short = option.short === undefined ? '' : ` -s ${option.short}`
        const value =
          option.value === undefined
            ? ''
            : option.choices === undefined
              ? ' -r'
              : ` -x -a ${quoted(option.choices.join(' '))}`
        return `complete -c capstan -n ${quoted(here)} -l ${option.name}${short}${value} -d ${quoted(plain(option.summary))}`
      }),
    ]
  })
  return `# fish completion of capstan\n${lines.join('\n')}\n`
}

function actionsOf({ actions = {} }: Command): string[] {
  return Object.keys(actions)
}

function optionsOf({ options }: Command): string[] {
  return [...options.map(({ name }) => `--${name}`), '--help']
}

/** For a word in single quotes of all three shells, and for the lists of zsh. */
function plain(text: string): string {
  return text.replace(/[[\]:'"\\$`]/g, '’')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`
}
