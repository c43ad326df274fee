/** How the requests of a model are sent. */
export type ConnectionOptions = {
  /** The URL of an HTTP proxy, or `off`. Default: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the environment. */
  readonly proxy?: string | undefined
  /** A file with certificates (PEM) that are trusted in addition to the usual ones. */
  readonly caFile?: string | undefined
  /** Sends the requests in place of Node's client; `proxy` and `caFile` do not apply to it. */
  readonly fetch?: typeof globalThis.fetch | undefined
}
