import type { Word } from './analysis.js'
import { commandName, commandTable } from './command-table.js'
import { parseOptions } from './option-table.js'

/**
 * Returns the hosts that the arguments of a command name: literal URLs, `user@host:path`, and hosts of network
 * commands.
 */
export function hostArguments(words: readonly Word[]): string[] {
  const [first, ...args] = words
  const name = commandName(first)
  if (name === undefined || OFFLINE.has(name)) return []
  if (name === 'git' && !args.some((word) => GIT_REMOTE.has(word.value ?? ''))) return []
  const hosts = args.flatMap((word) => urlHosts(word.value ?? word.prefix ?? ''))
  if (REMOTE_PATHS.has(name)) hosts.push(...args.flatMap((word) => remotePathHost(word.value ?? '')))
  if (Object.hasOwn(HOST_OPERANDS, name)) hosts.push(...hostOperands(name, args))
  return [...new Set(hosts)]
}

/** Returns the host of a URL in the form that a resolver gets: lower case, IPv4 in decimal. */
function urlHost(url: string): string | undefined {
  // Only the well-known schemes have their hosts normalised by the URL standard.
  const asHttp = url.replace(/^[a-z][\w+.-]*:\/\//i, 'http://')
  return URL.canParse(asHttp) ? new URL(asHttp).hostname || undefined : undefined
}

function urlHosts(text: string): string[] {
  const hosts: string[] = []
  for (const { index } of text.matchAll(/[a-z][\w+.-]*:\/\//gi)) {
    const host = urlHost(/^[^\s'"<>,]*/.exec(text.slice(index))?.[0] ?? '')
    if (host !== undefined && !text.slice(index).startsWith('file:')) hosts.push(host)
  }
  return hosts
}

/** `user@host:path`, `host:path`. */
function remotePathHost(text: string): string[] {
  const host = /^(?:[^@/:\s]+@)?(\[[^\]]+\]|[^@/:\s]+):(?!\/\/)/.exec(text)?.[1]
  return host === undefined ? [] : [host.replaceAll(/[[\]]/g, '').toLowerCase()]
}

function hostOperands(name: string, args: readonly Word[]): string[] {
  const table = commandTable(name)
  const operands = table
    ? parseOptions(table, args).operands
    : args.filter((word) => word.value !== undefined && !word.value.startsWith('-'))
  return operands.slice(0, HOST_OPERANDS[name] === 'first' ? 1 : undefined).flatMap(({ value }) => {
    if (value === undefined || value.includes('://')) return []
    const host = urlHost(`http://${value}`)
    return host === undefined ? [] : [host]
  })
}

/** Commands that do not connect to the hosts in their arguments, which are messages, patterns or file contents. */
const OFFLINE = new Set(
  'echo printf cat grep egrep fgrep rg sed awk gawk ls head tail wc sort uniq cut tr diff jq test [ true false : basename dirname touch mkdir rm cp mv ln chmod tee make find base64'.split(
    ' ',
  ),
)
const GIT_REMOTE = new Set('clone fetch pull push ls-remote remote submodule archive'.split(' '))
const REMOTE_PATHS = new Set(['scp', 'rsync', 'git', 'sftp'])
const HOST_OPERANDS: Readonly<Record<string, 'all' | 'first'>> = {
  curl: 'all',
  wget: 'all',
  ssh: 'first',
  sftp: 'first',
  ping: 'all',
  nc: 'first',
  ncat: 'first',
  netcat: 'first',
  telnet: 'first',
  ftp: 'first',
  dig: 'all',
  host: 'all',
  nslookup: 'all',
  whois: 'all',
}
