/** The project, the location and the credentials of Vertex AI. */
export type VertexAccess = {
  readonly project?: string | undefined
  /** Default: `global`. */
  readonly location?: string | undefined
  /** A credentials file of Google: of a service account or of a user. */
  readonly credentialsFile?: string | undefined
}

/** Returns the URL of Google's models in a project and location; undefined when one of them is not valid in a URL. */
export function vertexEndpoint(
  { project = '', location = 'global' }: VertexAccess,
  baseUrl: string | undefined,
): string | undefined {
  // Checked, because the location is part of the host name.
  if (!/^[a-z\d-]+$/.test(location) || !/^[\w.:-]+$/.test(project)) return undefined
  const host = location === 'global' ? 'aiplatform.googleapis.com' : `${location}-aiplatform.googleapis.com`
  const base = (baseUrl ?? `https://${host}`).trim().replace(/\/+$/, '').replace(/\/v1$/, '')
  return `${base}/v1/projects/${project}/locations/${location}/publishers/google`
}
