import { readFileSync } from 'node:fs'
import { tryOr } from '../../tool/errors.js'

/** The network access of sandboxed commands. */
export type NetworkRules = {
  /** The allowed hosts: `example.com`, `*.example.com`, `example.com:8443`. Absent or empty: no network. */
  readonly allowHosts: readonly string[]
  /** Allows only GET and HEAD: for all hosts (`true`), or for those that are named. */
  readonly readOnly?: boolean | readonly string[] | undefined
  /** Allows `git fetch` and `git clone` to read from read-only hosts, for which they use POST. */
  readonly gitFetch?: boolean | undefined
  /** Headers that the proxy adds for single hosts, so that commands never see them. */
  readonly secrets?: readonly HostSecret[] | undefined
  readonly limits?: NetworkLimits | undefined
  /** Additional certificate authorities for inspected hosts, as PEM. */
  readonly certificates?: string | undefined
}

/** A header with a secret, which the proxy adds to requests to one host. */
export type HostSecret = {
  /** A name or address; with `:port` for a port other than 443. */
  readonly host: string
  /** The name of the header, such as `authorization`. It replaces one that the command sends. */
  readonly header: string
  /** The whole value of the header, such as `Bearer …`; a function is called for each request. */
  readonly value?: string | (() => string | Promise<string>) | undefined
  /**
   * The absolute path of a file with the value, in place of `value`. It is read for each request, spaces and line
   * breaks around it are removed, and no tool and no command can open it.
   */
  readonly file?: string | undefined
  /** The text that is sent before the content of `file`, such as `Bearer `. */
  readonly prefix?: string | undefined
  /** Sends the secret over plain http too. */
  readonly plainHttp?: boolean | undefined
}

/** Limits of the network for one command. */
export type NetworkLimits = {
  /** The maximum number of concurrent connections. Default: 256. */
  readonly maxConnections?: number | undefined
  /** How long a connection can be silent, in milliseconds. Default: 120,000. */
  readonly idleMs?: number | undefined
  /** How long a connection can last, in milliseconds. Default: 3,600,000. */
  readonly maxMs?: number | undefined
  /** How many bytes a command can send in total. Default: 1 GiB. */
  readonly maxUploadBytes?: number | undefined
  /** How many bytes a command can receive in total. Default: 16 GiB. */
  readonly maxDownloadBytes?: number | undefined
}

/** Returns the texts to hide from the command in a response: the value, and the part after a scheme like `Bearer`. */
export function hiddenTexts(value: string): readonly string[] {
  const token = /^[\w-]+ +(\S{8,})$/.exec(value)?.[1]
  return [...new Set([value, token ?? value])].filter((text) => text.length >= 8)
}

/** Returns the current value of a secret without calling a function of the host; undefined when it has none. */
export function valueNow({ value, file, prefix = '' }: HostSecret): string | undefined {
  if (file === undefined) return typeof value === 'string' ? value : undefined
  // The file can be created later: its value is read again for each request.
  return tryOr(() => `${prefix}${readFileSync(file, 'utf8').trim()}`, undefined)
}
