import type { Word } from './analysis.js'
import type { Inner, Unwrapped } from './unwrap.js'

/**
 * The script that a shell is given, when it can be read: `bash -c '…'`, a here-document. Only bash reads it as we do, so a
 * script for any other shell is shown to the denies but can at best be asked about.
 */
export function shellScript(name: string, args: readonly Word[], input: string | undefined): Unwrapped {
  const { flags, odd, rest } = shellOptions(args)
  const doubts = name === 'bash' ? [] : [`${name} may read the script differently than bash`]
  if (odd !== undefined) doubts.push(`${name} ${odd} is not among the options known to be harmless`)
  const [operand] = rest
  if (flags.includes('c')) {
    if (operand?.value === undefined) return unseen(`${name} runs a script that is only known when it runs`)
    return { inner: inner(operand.value, doubts), doubts, transparent: doubts.length === 0 }
  }
  // A word that is only known when it runs may come to nothing, and then the input counts.
  const mayReadInput = operand === undefined || operand.value === undefined || flags.includes('s')
  if (!mayReadInput) {
    if (odd !== undefined) return unseen(`${name} runs a script file`)
    return { inner: [], doubts: [], transparent: false, scriptFile: 1 + args.indexOf(operand) }
  }
  const doubt = `${name} runs what it reads from its input`
  return input === undefined
    ? unseen(doubt)
    : { inner: inner(input, [doubt]), doubts: [...doubts, doubt], transparent: false }
}

function inner(run: string, [doubt]: readonly string[]): Inner[] {
  return [{ run, inShell: false, ...(doubt !== undefined && { doubt }) }]
}

function unseen(doubt: string): Unwrapped {
  return { inner: [], doubts: [doubt], transparent: false }
}

function shellOptions(args: readonly Word[]): {
  flags: string
  odd: string | undefined
  rest: readonly Word[]
} {
  let flags = ''
  let odd: string | undefined
  for (let at = 0; at < args.length; at++) {
    const value = args[at]?.value
    if (value === undefined || !/^[-+]./.test(value)) return { flags, odd, rest: args.slice(at) }
    if (value === '--') return { flags, odd, rest: args.slice(at + 1) }
    if (value.startsWith('--')) {
      if (!/^--(norc|noprofile)$/.test(value)) odd ??= value
      if (/^--(rcfile|init-file)$/.test(value)) at++
      continue
    }
    flags += value.slice(1)
    if (!/^-[ceu]*o?$/.test(value)) odd ??= value
    if (/[oO]/.test(value)) {
      at++
      if (!/^(pipefail|errexit|nounset)$/.test(args[at]?.value ?? '')) odd ??= `-o ${args[at]?.text ?? ''}`
    }
  }
  return { flags, odd, rest: [] }
}
