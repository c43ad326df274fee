import type { AccessToken } from '../access-token.js'
import type { ModelSettings } from '../connection/connection-options.js'
import { ModelError } from '../errors.js'
import { nameOf } from '../provider-error.js'
import { createGoogleTokens } from './google-tokens.js'
import { type VertexAccess, vertexEndpoint } from './vertex-endpoint.js'

type Settings = ModelSettings & {
  readonly baseUrl?: string | undefined
  readonly accessToken?: AccessToken | undefined
  readonly vertex?: VertexAccess | undefined
}

/** Returns the endpoint of a model of Vertex AI and its token. Throws a {@link ModelError} for a missing setting. */
export function vertexConfig(settings: Settings): {
  readonly endpoint: string
  readonly accessToken: AccessToken
} {
  const { baseUrl, vertex = {}, apiKey, accessToken, proxy, caFile, fetch } = settings
  const endpoint = vertexEndpoint(vertex, baseUrl)
  if (endpoint === undefined)
    throw new ModelError(
      'model_unavailable',
      `${nameOf(settings)} has no valid project and location: set vertex.project and vertex.location, for example from the environment variables GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION`,
    )
  const { credentialsFile } = vertex
  const given = accessToken || apiKey
  if (given) return { endpoint, accessToken: given }
  if (credentialsFile)
    return { endpoint, accessToken: createGoogleTokens(settings, credentialsFile, { proxy, caFile, fetch }) }
  throw new ModelError(
    'model_auth',
    `${nameOf(settings)} has no credentials: set accessToken or vertex.credentialsFile, for example from the environment variables VERTEX_ACCESS_TOKEN or GOOGLE_APPLICATION_CREDENTIALS`,
  )
}
