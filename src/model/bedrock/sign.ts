import { createHash, createHmac } from 'node:crypto'

/** The credentials and the region of Amazon Web Services. */
export type AwsAccess = {
  readonly region?: string | undefined
  readonly accessKeyId?: string | undefined
  readonly secretAccessKey?: string | undefined
  /** The session token of temporary credentials. */
  readonly sessionToken?: string | undefined
}

export type SignedRequest = {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly service: string
  readonly now: Date
}

/** Returns the headers of a POST request with its signature (Signature Version 4). */
export function signedHeaders(
  { region = '', accessKeyId = '', secretAccessKey = '', sessionToken }: AwsAccess,
  { url, headers, body, service, now }: SignedRequest,
): Record<string, string> {
  const time = now.toISOString().replace(/[-:]|\.\d+/g, '')
  const signed: Record<string, string> = {
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()])),
    host: url.host,
    'x-amz-date': time,
    ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
  }
  const names = Object.keys(signed).toSorted()
  const list = names.join(';')
  const canonical = [
    'POST',
    // The path of the URL is already encoded once; the signature requires the path encoded twice.
    url.pathname.split('/').map(encoded).join('/'),
    '',
    ...names.map((name) => `${name}:${signed[name]}`),
    '',
    list,
    digest(body),
  ].join('\n')
  const date = time.slice(0, 8)
  const scope = `${date}/${region}/${service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, digest(canonical)].join('\n')
  const key = [date, region, service, 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${secretAccessKey}`,
  )
  const signature = createHmac('sha256', key).update(text).digest('hex')
  const { host: _, ...sent } = signed
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${list}, Signature=${signature}`,
  }
}

function encoded(segment: string): string {
  return encodeURIComponent(segment).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
