import { commandName } from './destructive-command.js'
import { parseHost } from './host-pattern.js'
import type { CommandAnalysis, CommandUnit } from './shell/analysis.js'

/**
 * Describes what a command would send to another host; undefined when it has none of the obvious forms. Sending to
 * this machine itself is not reported, because that is how servers are tested.
 */
export function describeExfiltration(analysis: CommandAnalysis): string | undefined {
  for (const unit of analysis.units) {
    const socket = unit.redirections.find(({ target }) =>
      /^\/dev\/(tcp|udp)\//.test(target.value ?? target.text),
    )
    if (socket !== undefined) return `it opens a network connection through ${socket.target.text}`
    const reason = sentBy(unit, analysis)
    if (reason !== undefined) return reason
  }
  return undefined
}

function sentBy(unit: CommandUnit, analysis: CommandAnalysis): string | undefined {
  const name = commandName(unit)
  if (copiers.has(name)) return copiedSecret(unit, name)
  if (!senders.has(name) || staysHere(unit, analysis)) return undefined
  const args = unit.words.slice(1)
  const texts = args.map(({ text, value }) => value ?? text)
  const file = uploadedFile(name, texts)
  if (file !== undefined)
    return `${name} would send the content of ${file === '-' ? 'its input' : file} to another host`
  if (rawSenders.has(name)) {
    const input = unit.redirections.find(({ mode }) => mode !== 'write')
    if (input !== undefined) return `${name} would send the content of ${input.target.text} to another host`
    if (isPipedInto(analysis.text, name)) return `${name} would send what is piped into it to another host`
  }
  const open = args.filter(({ value }) => value === undefined).map(({ text }) => text)
  const secret = open.map((text) => secretVariable.exec(text)?.[0]).find((found) => found !== undefined)
  if (secret !== undefined) return `${name} would send the variable ${secret} to another host`
  if (open.some((text) => /\$\(|`|<\(/.test(text)) && !onlyHarmless(analysis, unit))
    return `${name} would send the output of another command to another host`
  return undefined
}

const rawSenders = new Set(['nc', 'ncat', 'netcat', 'socat', 'telnet', 'ssh', 'mail', 'sendmail', 'ftp'])
const senders = new Set([
  ...rawSenders,
  ...['curl', 'wget', 'http', 'https', 'xh', 'curlie', 'dig', 'nslookup', 'host', 'ping'],
])
const copiers = new Set(['scp', 'rsync', 'sftp', 'rclone'])

const secretVariable = /\$\{?\w*(KEY|TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE|AWS_|DATABASE_URL|COOKIE)\w*\}?/i
const secretFile =
  /(^|[/~])(\.ssh|\.aws|\.gnupg|\.kube|\.netrc|\.npmrc|\.pypirc|\.docker|\.env[^/]*|id_(rsa|ed25519|ecdsa|dsa)[^/]*|credentials|shadow)(\/|$)|\.(pem|p12|pfx|keystore)$/

/** Returns the file that an option sends as the body of a request. */
function uploadedFile(name: string, args: readonly string[]): string | undefined {
  if (name === 'curl' || name === 'curlie') return curlUpload(args)
  if (name === 'wget') return optionValue(args, /^--(post|body)-file(?:=(.*))?$/s, 2)
  if (name === 'http' || name === 'https' || name === 'xh')
    return args.map((arg) => /^[^=:@\s]+(?::?=?@)(.+)$/s.exec(arg)?.[1]).find((file) => file !== undefined)
  return undefined
}

function curlUpload(args: readonly string[]): string | undefined {
  for (const [at, arg] of args.entries()) {
    const long =
      /^--(data|data-binary|data-ascii|data-urlencode|form|json|url-query|upload-file)(?:=(.*))?$/s.exec(arg)
    const short = /^-[a-zA-Z#]*?([dFT])(.*)$/s.exec(arg)
    const isLong = arg.startsWith('--')
    const option = isLong ? long?.[1] : short?.[1]
    if (option === undefined) continue
    const attached = isLong ? long?.[2] : short?.[2]
    const value = attached === undefined || attached === '' ? args[at + 1] : attached
    if (value === undefined) continue
    if (option === 'T' || option === 'upload-file') return value
    const file =
      option === 'F' || option === 'form' ? /=[@<](.+)$/s.exec(value)?.[1] : /^[^=]*@(.+)$/s.exec(value)?.[1]
    if (file !== undefined) return file
  }
  return undefined
}

function optionValue(args: readonly string[], option: RegExp, group: number): string | undefined {
  for (const [at, arg] of args.entries()) {
    const found = option.exec(arg)
    if (found !== null) return found[group] ?? args[at + 1]
  }
  return undefined
}

/** Copying a build to a server is normal; copying keys is not. */
function copiedSecret(unit: CommandUnit, name: string): string | undefined {
  const texts = unit.words.slice(1).map(({ text, value }) => value ?? text)
  const remote = texts.some((text) => /^[^/]+:/.test(text))
  const secret = texts.find((text) => secretFile.test(text))
  return remote && secret !== undefined ? `${name} would copy ${secret} to another host` : undefined
}

function isPipedInto(text: string, name: string): boolean {
  const plain = text.slice(0, 8192).replaceAll('||', ';')
  return plain
    .split('|')
    .slice(1)
    .some((part) => new Set(part.trim().split(/\s+/, 6).map(baseName)).has(name))
}

function staysHere(unit: CommandUnit, { hosts }: CommandAnalysis): boolean {
  const named = [
    ...hosts,
    ...unit.words.slice(1).flatMap(({ value }) => (value === undefined ? [] : [value])),
  ]
  const here = named.filter((text) => isLoopback(text))
  return here.length > 0 && hosts.every(isLoopback)
}

function isLoopback(text: string): boolean {
  const name = parseHost(text)?.name
  return name !== undefined && /^(localhost|.+\.localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(name)
}

/** Commands whose output contains nothing secret. */
const harmless = new Set(['date', 'uname', 'seq', 'nproc', 'uuidgen', 'arch', 'true', 'echo', 'printf'])

function onlyHarmless({ units }: CommandAnalysis, sender: CommandUnit): boolean {
  const others = units.filter((unit) => unit !== sender && sender.text.includes(unit.text))
  return others.length > 0 && others.every((unit) => harmless.has(commandName(unit)))
}

function baseName(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1)
}
