import type { Word } from './analysis.js'
import { commandName } from './command-table.js'
import { hasSubcommands, knownName, runsNoArgument } from './program-kind.js'
import { isShellText } from './shell-text.js'
import { isSystemPath } from './system-path.js'
import { isLoader, SHELLS } from './wrapper-table.js'

/**
 * A command that a program may start, because it is among its arguments: the words of a command, or the text of a
 * script.
 */
export type Possible = { readonly run: readonly Word[] | string; readonly prose: boolean }

/**
 * Returns the commands that an unknown program may start. Any program may be a wrapper such as `linux64`, so every
 * argument that can be the name of a program is treated as one, with everything after it. A text of several words may
 * be a script or a message.
 */
export function possibleCommands(words: readonly Word[]): Possible[] {
  const [first, ...args] = words
  const name = knownName(first)
  if (first?.value === undefined || (name !== undefined && runsNoArgument(name))) return []
  const found: Possible[] = []
  for (const [at, word] of args.slice(0, MAX_ARGUMENTS).entries()) {
    const { value } = word
    if (value === undefined) continue
    const before = args[at - 1]?.value ?? ''
    const attached = /^--?([\w-]+)=(.+)$/s.exec(value)
    const text = attached?.[2] ?? value
    const script = SCRIPT_OPTION.test(attached ? `--${attached[1]}` : before)
    if (isShellText(text)) found.push({ run: text, prose: !script })
    else if (attached) {
      if (script) found.push({ run: [{ text, value: text }], prose: false })
    } else if (NAME.test(value) && !isSubcommand(name, args, at))
      found.push({ run: args.slice(at), prose: false })
  }
  return found
}

/**
 * Returns why an unknown program needs approval although a rule allows it: an argument is clearly another command.
 */
export function startsAnother(words: readonly Word[]): string | undefined {
  const [first] = words
  for (const { run } of possibleCommands(words)) {
    if (typeof run === 'string') continue
    const [inner] = run
    const name = commandName(inner)
    if (inner?.value === undefined || name === undefined) continue
    if (isSystemPath(inner.value) || SHELLS.has(name) || PLAINLY.has(name) || isLoader(inner.value))
      return `${first?.text ?? ''} may run ${inner.text}`
  }
  return undefined
}

const MAX_ARGUMENTS = 64
const NAME = /^[A-Za-z_.~/][\w.+~/[-]*$/
const SCRIPT_OPTION =
  /^(-c|-e|-x|-C|--?(command|cmd|exec|execute|eval|script|run|shell|program|on-.*|pre|post))$/

/** `docker volume rm`: the first two words are subcommands, unless the first says that a command follows. */
function isSubcommand(name: string | undefined, args: readonly Word[], at: number): boolean {
  if (name === undefined || !hasSubcommands(name) || at > 1) return false
  return at === 0 || !/^(exec|run|x|--|shell|debug)$/.test(args[0]?.value ?? '')
}

/** Names that are not subcommands of other programs. */
const PLAINLY = new Set(
  'rm rmdir shred dd chmod chown cat tee curl wget ssh scp sudo doas env xargs eval nohup nice timeout setsid python python3 perl ruby node php awk sed tar'.split(
    ' ',
  ),
)
