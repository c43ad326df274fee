import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CallConfinement } from '../shell/confinement.js'
import type { CheckHost } from './admission.js'
import type { NetworkRules } from './network-options.js'
import { type FilteringProxy, proxyUser, startProxy } from './proxy.js'
import { commandCertificates } from './trusted-certificates.js'

/** The network of the commands in a sandbox. */
export type SandboxNetwork = NetworkRules & {
  /** Resolves a host and refuses private addresses; the connection goes to the returned address. */
  readonly checkHost: CheckHost
}

/** The way of one command to the network. */
export type CommandNetwork = Pick<FilteringProxy, 'address' | 'refused' | 'close'> & {
  /**
   * Writes what the command needs into its home and returns its variables. `home` is where the directory is now,
   * `seenHome` where the command sees it.
   */
  variables(home: string, seenHome: string): Readonly<Record<string, string>>
}

/**
 * Starts the proxy of one command: its grant, its refusals and its end are that command's own. Undefined where the
 * command reaches no host. `directory`: where the socket is made; absent: the proxy listens on a port.
 */
export async function openCommandNetwork(
  network: SandboxNetwork | undefined,
  call: CallConfinement | undefined,
  directory?: string,
): Promise<CommandNetwork | undefined> {
  const { hosts, deniesHost, onRequest } = call ?? {}
  if (network === undefined || network.allowHosts.length === 0 || hosts?.length === 0) return undefined
  const place = directory === undefined ? undefined : await socketDirectory(directory)
  const proxy = await startProxy({
    ...network,
    socket: place === undefined ? undefined : join(place, 's'),
    hosts,
    deniesHost,
    onRequest,
  })
  return {
    ...proxy,
    variables(home, seenHome) {
      const { certificate } = proxy
      if (certificate === undefined) return proxyVariables(proxy)
      writeFileSync(join(home, certificatesFile), commandCertificates(certificate, network.certificates))
      return { ...proxyVariables(proxy), ...certificateVariables(join(seenHome, certificatesFile)) }
    },
    async close() {
      await proxy.close()
      if (place !== undefined) await rm(place, { recursive: true, force: true })
    },
  }
}

/** The name of a socket ends at 107 bytes. */
function socketDirectory(directory: string): Promise<string> {
  return mkdtemp(join(Buffer.byteLength(directory) < 90 ? directory : tmpdir(), 'p-'))
}

/** Inside a network namespace the loopback interface belongs to the command alone, so the port is always the same. */
export const relayPort = 3128

/** The variables that name the proxy. There are two spellings, and programs know one or the other. */
function proxyVariables({ address }: FilteringProxy): Readonly<Record<string, string>> {
  const proxy =
    'socket' in address
      ? `http://127.0.0.1:${relayPort}`
      : `http://${proxyUser}:${address.password}@127.0.0.1:${address.port}`
  const direct = 'localhost,127.0.0.1,::1'
  return {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    https_proxy: proxy,
    NO_PROXY: direct,
    no_proxy: direct,
  }
}

const certificatesFile = '.capstan-certificates.pem'

/** Where programs look for the authorities that they trust: OpenSSL, Node, git, Python, curl, and others. */
function certificateVariables(file: string): Readonly<Record<string, string>> {
  return {
    SSL_CERT_FILE: file,
    NODE_EXTRA_CA_CERTS: file,
    GIT_SSL_CAINFO: file,
    REQUESTS_CA_BUNDLE: file,
    CURL_CA_BUNDLE: file,
    PIP_CERT: file,
    CARGO_HTTP_CAINFO: file,
    AWS_CA_BUNDLE: file,
    DENO_CERT: file,
    // npm asks no other authority when a configuration of the machine names one.
    npm_config_cafile: file,
  }
}
