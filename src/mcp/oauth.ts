import { randomBytes, timingSafeEqual } from 'node:crypto'
import { tryOr } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { fetchFor, type HttpReach } from './channel/http-fetch.js'
import { McpError } from './errors.js'
import type { McpSignIn } from './host-types.js'
import type { McpOauthOptions, McpServerSpec } from './server-options.js'

/** A sign-in, in the form that the protocol's library expects. */
export type SignInAttempt = {
  readonly provider: never
  /** Finishes the sign-in: waits for the user, checks the response, and fetches the tokens. */
  complete(): Promise<void>
}

type Kept = { tokens?: unknown; client?: unknown; verifier?: string; issuer?: string }

/** Creates the sign-in to one server; undefined when none is configured. */
export async function signInFor(
  spec: McpServerSpec,
  { url, oauth }: HttpReach,
  signIn: McpSignIn | undefined,
): Promise<SignInAttempt | undefined> {
  if (oauth?.accessToken !== undefined) {
    const { accessToken } = oauth
    return { provider: { token: async () => accessToken } as never, complete: refuse }
  }
  if (oauth === undefined || signIn === undefined) return undefined
  const { auth } = await import('@modelcontextprotocol/client')
  const key = `${spec.name} ${url.origin}${url.pathname}`
  const redirectUrl = oauth.redirectUri ?? 'http://127.0.0.1/callback'
  let kept: Kept | undefined
  let asked: URL | undefined
  let state = ''
  let found: object | undefined = named(oauth)
  let completing: Promise<void> | undefined

  const read = async (): Promise<Kept> => {
    kept ??= parse(await signIn.store.load(key))
    return kept
  }
  const write = async (change: Kept): Promise<void> => {
    kept = { ...(await read()), ...change }
    await signIn.store.save(key, JSON.stringify(kept))
  }

  const provider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'capstan',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      ...omitUndefined({ scope: oauth.scopes?.join(' ') }),
    },
    state: () => {
      // A second call that is refused while a user signs in waits for the same sign-in.
      if (completing === undefined) state = randomBytes(24).toString('base64url')
      return state
    },
    clientInformation: async () => {
      const { clientId, clientSecret } = oauth
      if (clientId === undefined) return (await read()).client
      const issuer = named(oauth)?.authorizationServerUrl ?? (await read()).issuer
      return {
        client_id: clientId,
        ...omitUndefined({ client_secret: clientSecret, issuer }),
      }
    },
    saveClientInformation: async (client: { readonly client_id: string; readonly issuer?: string }) => {
      if (oauth.clientId === undefined) return write({ client })
      // A secret of the configuration is not stored a second time. It is bound to the issuer it was first sent to,
      // and is not sent to any other.
      if (client.client_id === oauth.clientId && client.issuer !== undefined)
        await write({ issuer: client.issuer })
    },
    tokens: async () => (await read()).tokens,
    saveTokens: (tokens: unknown) => write({ tokens }),
    redirectToAuthorization: (to: URL) => {
      // A server that names another scheme tries to start a program on this machine (CVE-2025-6514).
      if (to.protocol !== 'https:' && to.protocol !== 'http:')
        throw new McpError(
          'mcp_unauthorized',
          'the server wants a sign-in at an address that is not http or https',
        )
      if (completing === undefined) asked = to
    },
    saveCodeVerifier: async (verifier: string) => {
      if (completing === undefined) await write({ verifier })
    },
    codeVerifier: async () => (await read()).verifier ?? '',
    // The address that receives the code is fixed when the user is redirected: the server cannot name another one
    // later.
    discoveryState: () => found,
    saveDiscoveryState: (state: object) => {
      found = state
    },
    invalidateCredentials: async (what: string) => {
      if (what === 'all' || what === 'discovery') found = named(oauth)
      if (what === 'all' || what === 'tokens') await write({ tokens: undefined })
      if (what === 'all' || what === 'client') await write({ client: undefined })
      if (what === 'all') await signIn.store.remove(key)
    },
  }

  function complete(): Promise<void> {
    completing ??= finish().finally(() => {
      completing = undefined
      asked = undefined
    })
    return completing
  }

  async function finish(): Promise<void> {
    if (asked === undefined) throw new McpError('mcp_unauthorized', 'authentication failed')
    if (signIn?.authorize === undefined)
      throw new McpError('mcp_unauthorized', 'a user has to sign in, and no authorize handler was given')
    const landed = await signIn.authorize({ server: spec.name, url: asked.href })
    const answer = new URL(landed, redirectUrl).searchParams
    if (!same(answer.get('state') ?? '', state))
      throw new McpError('mcp_unauthorized', 'the response of the sign-in belongs to another attempt')
    const code = answer.get('code')
    if (code === null) throw new McpError('mcp_unauthorized', 'signing in was refused')
    const net = await fetchFor({ by: 'http', url, headers: {}, sse: 'fallback', ...(oauth && { oauth }) })
    try {
      const iss = answer.get('iss')
      await auth(provider as never, {
        serverUrl: url,
        authorizationCode: code,
        fetchFn: net.fetch,
        ...(iss !== null && { iss }),
      })
    } finally {
      net.close()
    }
  }

  return { provider: provider as never, complete }
}

/** With both addresses in the configuration, nothing is discovered, and code and secret go nowhere else. */
function named({ authUrl, tokenUrl }: McpOauthOptions) {
  if (authUrl === undefined || tokenUrl === undefined) return undefined
  return {
    authorizationServerUrl: new URL(authUrl).origin,
    authorizationServerMetadata: {
      authorization_endpoint: authUrl,
      token_endpoint: tokenUrl,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
    },
  }
}

async function refuse(): Promise<void> {
  throw new McpError('mcp_unauthorized', 'authentication failed')
}

function parse(text: string | undefined): Kept {
  // If the store returns something that was not saved by us, the user counts as not signed in.
  const value: unknown = tryOr(() => JSON.parse(text ?? '{}'), undefined)
  return isRecord(value) ? (value as Kept) : {}
}

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return b !== '' && left.length === right.length && timingSafeEqual(left, right)
}
