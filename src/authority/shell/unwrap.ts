import type { Word } from './analysis.js'
import { commandName } from './command-table.js'
import { findCommands } from './find-expression.js'
import { parseOptions } from './option-table.js'
import { shellScript } from './shell-script.js'
import { isShellText } from './shell-text.js'
import { isLoader, OPAQUE_WRAPPERS, SHELLS, WRAPPERS, type Wrapper } from './wrapper-table.js'

/** A command or script that a command starts, as far as its words show. */
export type Inner = {
  /** Words of a command, or the text of a script. */
  readonly run: readonly Word[] | string
  readonly assignments?: readonly { readonly name: string; readonly value: Word }[]
  /** It runs in the shell itself: its `cd` applies to what follows. */
  readonly inShell: boolean
  /** Why no pattern can allow what is started. */
  readonly doubt?: string | undefined
}

export type Unwrapped = {
  readonly inner: readonly Inner[]
  readonly doubts: readonly string[]
  /** The command does nothing but start them. */
  readonly transparent: boolean
  /** The position of the word that names a script file, if a shell runs one. */
  readonly scriptFile?: number | undefined
}

/** Returns what a command starts; `input` is the text of its here-document or here-string, if that is literal. */
export function unwrap(words: readonly Word[], input: string | undefined): Unwrapped {
  const [first, ...args] = words
  const name = commandName(first)
  if (name === undefined) return NOTHING
  if (SHELLS.has(name)) return shellScript(name, args, input)
  if (Object.hasOwn(WRAPPERS, name)) {
    const wrapper = WRAPPERS[name]
    if (wrapper) return unwrapWrapper(name, wrapper, args)
  }
  if (OPAQUE_WRAPPERS.has(name) || isLoader(name)) return opaque(name, args)
  switch (name) {
    case 'find':
      return { ...NOTHING, inner: findCommands(args).map((run) => ({ run, inShell: false })) }
    case 'eval':
      return script(joined(args), 'eval', true)
    case 'trap':
      return script(args.find((word) => word.value !== '--' && word.value !== '-')?.value, 'trap', false)
    case 'parallel':
    case 'watch':
      return script(joined(withoutOptions(args)), name, false)
    default:
      return NOTHING
  }
}

const NOTHING: Unwrapped = { inner: [], doubts: [], transparent: false }

function unwrapWrapper(name: string, wrapper: Wrapper, args: readonly Word[]): Unwrapped {
  // `command -v ls` only looks a name up.
  if (name === 'command' && /^-p*[vV]/.test(args[0]?.value ?? '')) return { ...NOTHING, transparent: true }
  const { options, operands } = parseOptions(wrapper, args)
  const doubts = options.flatMap(({ name: option, problem }) =>
    problem === undefined ? [] : [`${name} ${option} ${problem}`],
  )
  const own = operands.slice(0, wrapper.operands)
  let run = operands.slice(wrapper.operands)
  const assignments: { name: string; value: Word }[] = []
  while (wrapper.assigns) {
    const [word] = run
    const assignment = /^([^=]+)=(.*)$/s.exec(word?.value ?? word?.prefix ?? '')
    if (!word || !assignment) break
    const [, variable = '', value = ''] = assignment
    const text = word.value === undefined ? { text: word.text } : { text: value, value }
    assignments.push({ name: variable, value: text })
    run = run.slice(1)
  }
  if (own.some((word) => word.value === undefined) || doubts.length > 0) {
    // It is not certain where its own arguments end: examine everything after them too.
    return {
      inner: [{ run, assignments, inShell: false }, ...suffixes(name, args)],
      doubts,
      transparent: false,
    }
  }
  if (wrapper.doubt !== undefined) doubts.push(wrapper.doubt)
  if (run.length === 0) return { inner: [], doubts, transparent: name !== 'env' && name !== 'xargs' }
  if (wrapper.appends)
    run = withAppended(
      run,
      options.find(({ name: option }) => /^(-I|-i|--replace)$/.test(option))?.value?.value,
    )
  return { inner: [{ run, assignments, inShell: wrapper.inShell ?? false }], doubts, transparent: true }
}

/** `xargs rm`: more words follow; `xargs -I% rm %`: they replace the mark. */
function withAppended(run: readonly Word[], mark: string | undefined): Word[] {
  const marked = run.map((word): Word => (word.value?.includes(mark ?? '{}') ? { text: word.text } : word))
  return mark === undefined ? [...marked, { text: '…' }] : marked
}

function opaque(name: string, args: readonly Word[]): Unwrapped {
  return {
    inner: suffixes(name, args),
    doubts: [`${name} runs another program with other rights or in another environment`],
    transparent: false,
  }
}

function suffixes(name: string, args: readonly Word[]): Inner[] {
  const doubt = `it may be run by ${name}`
  const inner: Inner[] = []
  for (const [at, word] of args.slice(0, 32).entries()) {
    if (word.value?.startsWith('-')) {
      // `su -c'rm x'`, `--command=rm`: the script is attached to its option.
      const attached = /^(?:-\w*c|--?[\w-]+=)(.+)$/s.exec(word.value)?.[1]
      if (attached !== undefined) inner.push({ run: attached, inShell: false, doubt })
      continue
    }
    // A script can begin with an assignment; the name of a program cannot.
    if (!/^\w+=/.test(word.value ?? '')) inner.push({ run: args.slice(at), inShell: false, doubt })
    if (word.value !== undefined && isShellText(word.value))
      inner.push({ run: word.value, inShell: false, doubt })
  }
  return inner
}

function script(text: string | undefined, name: string, inShell: boolean): Unwrapped {
  const doubt = `${name} runs text as a script`
  return {
    inner: text === undefined ? [] : [{ run: text, inShell, doubt }],
    doubts: [doubt],
    transparent: false,
  }
}

function joined(words: readonly Word[]): string | undefined {
  const values = words.map((word) => word.value)
  return values.includes(undefined) ? undefined : values.join(' ')
}

/** Returns the command of `parallel` and `watch`, whose options differ too much between versions to be listed. */
function withoutOptions(args: readonly Word[]): readonly Word[] {
  const start = args.findIndex((word) => !word.value?.startsWith('-') && !/^[\d.]+$/.test(word.value ?? ''))
  const end = args.findIndex((word) => /^:::/.test(word.value ?? ''))
  return start < 0 ? [] : args.slice(start, end < 0 ? undefined : end)
}
