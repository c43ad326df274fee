import type { Started } from './support.js'

/** What tests of the inspector's routes share: the sign-in of a browser, and the operations of the server. */
export const csrfName = 'x-capstan-csrf'

export type Visit = { readonly cookie: string; readonly csrf: string; readonly setCookie: string }

export async function newCode({ call }: Started): Promise<string> {
  return (await call('POST', '/v1/inspector/codes')).body.code
}

/** What a page of the server sends: no token, and the headers that a browser adds. */
export function fromPage(url: string, more: Record<string, string> = {}): Record<string, string> {
  return { 'content-type': 'application/json', origin: url, 'sec-fetch-site': 'same-origin', ...more }
}

export function exchange(url: string, code: string, headers = fromPage(url)): Promise<Response> {
  return fetch(`${url}/v1/inspector/sign-in`, { method: 'POST', headers, body: JSON.stringify({ code }) })
}

export async function signIn(started: Started, given?: string): Promise<Visit> {
  const response = await exchange(started.url, given ?? (await newCode(started)))
  const setCookie = response.headers.get('set-cookie') ?? ''
  const { csrf } = (await response.json()) as { csrf: string }
  return { cookie: setCookie.split(';')[0] ?? '', csrf, setCookie }
}

/** The headers of a page that is signed in. */
export function asVisitor(url: string, { cookie, csrf }: Visit): Record<string, string> {
  return fromPage(url, { cookie, [csrfName]: csrf })
}

type Schema = {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly minItems?: number
  readonly minLength?: number
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
}
type RequestBody = { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
type Operation = { readonly operationId: string; readonly requestBody?: RequestBody }
export type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** A body that is valid, so that only the missing right can be the reason of a refusal. */
export function bodyFor({ content }: RequestBody, { components }: Document): unknown {
  const value = (schema: Schema | undefined): unknown => {
    if (schema?.$ref !== undefined) return value(components.schemas[schema.$ref.split('/').at(-1) ?? ''])
    if (schema?.enum !== undefined) return schema.enum[0]
    switch (schema?.type) {
      case 'string':
        return 'x'.repeat(schema.minLength ?? 1)
      case 'integer':
      case 'number':
        return schema.minimum ?? 1
      case 'boolean':
        return true
      case 'array':
        return Array.from({ length: schema.minItems ?? 0 }, () => value(schema.items))
      default:
        return Object.fromEntries(
          (schema?.required ?? []).map((name) => [name, value(schema?.properties?.[name])]),
        )
    }
  }
  return value(content['application/json']?.schema)
}

/** Every operation that the server lists, with the path and the body of a valid request. */
export async function operationsOf({ call }: Started, sessionId: string): Promise<Sent[]> {
  const document: Document = (await call('GET', '/v1/openapi.json')).body
  return Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, { operationId, requestBody }]) => ({
      operationId,
      template,
      method: method.toUpperCase(),
      path: template
        .replace('{sessionId}', sessionId)
        .replace('{id}', sessionId)
        .replace(/\{\w+\}/g, 'x'),
      body: requestBody && JSON.stringify(bodyFor(requestBody, document)),
    })),
  )
}

export type Sent = {
  readonly operationId: string
  readonly template: string
  readonly method: string
  readonly path: string
  readonly body: string | undefined
}
