/**
 * Returns whether a sed script only edits the text that passes through: no `w`, `e`, `r` and similar commands, no
 * `s///e` or `s///w`. Everything that this small parser does not support counts as not harmless.
 */
export function isHarmlessSedScript(script: string): boolean {
  let at = 0
  while (at < script.length) {
    const address = ADDRESS.exec(script.slice(at))
    at += address?.[0].length ?? 0
    const command = script[at]
    if (command === undefined) return true
    at++
    if ('{};\n \t'.includes(command)) continue
    if (command === '#') at = endOfLine(script, at)
    else if (command === 's' || command === 'y') {
      const end = endOfSubstitution(script, at, command)
      if (end === undefined) return false
      at = end
    } else if ('aic'.includes(command)) at = endOfLine(script, at)
    else if (':btT'.includes(command)) {
      at += /^[ \t]*\w*/.exec(script.slice(at))?.[0].length ?? 0
      if (!/^([;}\s]|$)/.test(script.slice(at))) return false
    } else if ('qQlL'.includes(command)) at += /^\s*\d*/.exec(script.slice(at))?.[0].length ?? 0
    else if (!'=dDgGhHnNpPxz'.includes(command)) return false
  }
  return true
}

const BRACKETS = String.raw`\[\^?(?:\[:\w+:\]|[^\]\\\n[/])+\]`
const ONE_ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n[]|\\.|${BRACKETS})*/[IM]*)`
const ADDRESS = new RegExp(
  String.raw`^[\s;{}]*(?:${ONE_ADDRESS}(?:\s*,\s*(?:${ONE_ADDRESS}|[+~]\d+))?)?[\s!]*`,
)

function endOfLine(script: string, from: number): number {
  const end = script.indexOf('\n', from)
  return end < 0 ? script.length : end
}

function endOfSubstitution(script: string, from: number, command: string): number | undefined {
  const delimiter = script[from]
  if (delimiter === undefined || /[\w\s\\;[\]]/.test(delimiter)) return undefined
  let at = from + 1
  for (let part = 0; part < 2; part++) {
    while (at < script.length && script[at] !== delimiter) {
      if (script[at] === '[' && part === 0 && command === 's') {
        const brackets = endOfBrackets(script, at, delimiter)
        if (brackets === undefined) return undefined
        at = brackets
      } else at += script[at] === '\\' ? 2 : 1
    }
    if (at >= script.length) return undefined
    at++
  }
  const flags = /^[gpiImM0-9]*/.exec(command === 's' ? script.slice(at) : '')?.[0] ?? ''
  at += flags.length
  const next = script[at]
  return next === undefined || ';}\n \t#'.includes(next) ? at : undefined
}

/** Versions of sed differ on a delimiter or backslash in brackets, so only plain brackets are followed. */
function endOfBrackets(script: string, from: number, delimiter: string): number | undefined {
  const brackets = /^\[\^?(?:\[:\w+:\]|\\[^\]\n]|[^\]\\\n[])+\]/.exec(script.slice(from))?.[0]
  return brackets === undefined || brackets.includes(delimiter) ? undefined : from + brackets.length
}
