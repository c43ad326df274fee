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

/** The network access of one command. */
export type CommandNetwork = Pick<FilteringProxy, 'address' | 'refused' | 'close'> & {
  /**
   * Writes the files that the command needs into its home and returns its variables. `home` is the current path of the
   * directory, `seenHome` its path inside the sandbox.
   */
  variables(home: string, seenHome: string): Readonly<Record<string, string>>
}

/**
 * Starts the proxy of one command, with that command's grant, refusals and lifetime. Returns undefined when the command
 * can reach no host. `directory`: where the socket is created; absent: the proxy listens on a port.
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

/** The path of a Unix socket is limited to 107 bytes. */
function socketDirectory(directory: string): Promise<string> {
  return mkdtemp(join(Buffer.byteLength(directory) < 90 ? directory : tmpdir(), 'p-'))
}

/** In a network namespace only the command uses the loopback interface, so the port can be fixed. */
export const relayPort = 3128

/** The variables that name the proxy. There are two spellings, and most programs read only one of them. */
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

/** The variable that names a file of certificate authorities for Node, which reads it at each start. */
export const nodeCertificates = 'NODE_EXTRA_CA_CERTS'

const certificatesFile = '.capstan-certificates.pem'

/** The variables that set the trusted certificate authorities: for OpenSSL, Node, git, Python, curl, and others. */
function certificateVariables(file: string): Readonly<Record<string, string>> {
  return {
    SSL_CERT_FILE: file,
    [nodeCertificates]: file,
    GIT_SSL_CAINFO: file,
    REQUESTS_CA_BUNDLE: file,
    CURL_CA_BUNDLE: file,
    PIP_CERT: file,
    CARGO_HTTP_CAINFO: file,
    AWS_CA_BUNDLE: file,
    DENO_CERT: file,
    // When the machine's npm configuration names a file of authorities, npm uses no other.
    npm_config_cafile: file,
  }
}
