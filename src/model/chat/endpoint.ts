/**
 * Returns the chat completions endpoint of a base URL. `http://host`, `http://host/` and `http://host/v1` are
 * equivalent; a base that already contains the endpoint is used unchanged; to a base with its own versioned path
 * (`/api/…`, `/v2` to `/v4`) only the last part is added.
 */
export function chatEndpoint(baseUrl: string): string {
  const at = baseUrl.search(/[?#]/)
  const query = at === -1 ? '' : baseUrl.slice(at)
  const base = (at === -1 ? baseUrl : baseUrl.slice(0, at)).trim().replace(/\/+$/, '')
  return completionsOf(base) + query
}

/** Returns the endpoint of Zhipu, which serves chat completions under its own path. */
export function zhipuEndpoint(baseUrl: string): string {
  const base = baseUrl.trim().replace(/\/+$/, '')
  if (base.endsWith('/chat/completions') || base.includes('/api/')) return chatEndpoint(base)
  return `${base}/api/paas/v4/chat/completions`
}

function completionsOf(base: string): string {
  if (base.endsWith('/chat/completions')) return base
  if (base.includes('/api/') || /\/v[234]$/.test(base)) return `${base}/chat/completions`
  return `${base.replace(/\/v1$/, '')}/v1/chat/completions`
}

/**
 * Returns the endpoint of a deployment of Azure OpenAI. With an API version, it is the path of the deployment; without
 * one, it is the path of the current version, where the name of the deployment is the model of the request.
 */
export function azureEndpoint(baseUrl: string, deployment: string, apiVersion: string | undefined): string {
  const base = baseUrl
    .trim()
    .replace(/[?#].*$/, '')
    .replace(/\/+$/, '')
  const root = base.replace(/\/openai(?:\/v1|\/deployments\/[^/]+)?$/, '')
  if (apiVersion === undefined) return `${root}/openai/v1/chat/completions`
  const query = `api-version=${encodeURIComponent(apiVersion)}`
  return `${root}/openai/deployments/${encodeURIComponent(deployment)}/chat/completions?${query}`
}
