import type { Word } from './analysis.js'
import type { Inner, Unwrapped } from './unwrap.js'

/**
 * Returns the script of a shell command, if it can be read: `bash -c '…'`, a here-document. Only bash is certain to
 * parse it like this parser, so a script for any other shell is matched against denies, but no pattern can allow it.
 */
export function shellScript(name: string, args: readonly Word[], input: string | undefined): Unwrapped {
  const { flags, unknown, rest } = shellOptions(args)
  const doubts = name === 'bash' ? [] : [`${name} may read the script differently than bash`]
  if (unknown !== undefined) doubts.push(`${name} ${unknown} is not among the options known to be harmless`)
  const [operand] = rest
  if (flags.includes('c')) {
    if (operand?.value === undefined) return unseen(`${name} runs a script that is only known when it runs`)
    return { inner: inner(operand.value, doubts), doubts, transparent: doubts.length === 0 }
  }
  // A word that is only known at run time may be empty, and then the shell reads its input.
  const mayReadInput = operand === undefined || operand.value === undefined || flags.includes('s')
  if (!mayReadInput) {
    if (unknown !== undefined) return unseen(`${name} runs a script file`)
    return { inner: [], doubts: [], transparent: false, scriptFile: 1 + args.indexOf(operand) }
  }
  const doubt = `${name} runs what it reads from its input`
  return input === undefined
    ? unseen(doubt)
    : { inner: inner(input, [doubt]), doubts: [...doubts, doubt], transparent: false }
}

function inner(run: string, [doubt]: readonly string[]): Inner[] {
  return [{ run, inShell: false, doubt }]
}

function unseen(doubt: string): Unwrapped {
  return { inner: [], doubts: [doubt], transparent: false }
}

function shellOptions(args: readonly Word[]): {
  flags: string
  unknown: string | undefined
  rest: readonly Word[]
} {
  let flags = ''
  let unknown: string | undefined
  for (let at = 0; at < args.length; at++) {
    const value = args[at]?.value
    if (value === undefined || !/^[-+]./.test(value)) return { flags, unknown, rest: args.slice(at) }
    if (value === '--') return { flags, unknown, rest: args.slice(at + 1) }
    if (value.startsWith('--')) {
      if (!/^--(norc|noprofile)$/.test(value)) unknown ??= value
      if (/^--(rcfile|init-file)$/.test(value)) at++
      continue
    }
    flags += value.slice(1)
    if (!/^-[ceu]*o?$/.test(value)) unknown ??= value
    if (/[oO]/.test(value)) {
      at++
      if (!/^(pipefail|errexit|nounset)$/.test(args[at]?.value ?? ''))
        unknown ??= `-o ${args[at]?.text ?? ''}`
    }
  }
  return { flags, unknown, rest: [] }
}
