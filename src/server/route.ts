import type { Session } from '../session/session.js'
import { tryOr } from '../tool/errors.js'
import type { JsonSchema } from '../tool/json.js'
import { objectSchema } from '../tool/object-schema.js'
import type { Principal } from './options.js'
import type { ProblemCode } from './problem.js'
import type { ServerCore } from './server-core.js'

/** A JSON object that came from a client. */
export type Body = Readonly<Record<string, unknown>>

/** The input of a handler. Everything in it is already checked. */
export type RouteContext = {
  readonly core: ServerCore
  readonly request: Request
  readonly principal: Principal
  /** Whether the caller is a browser that is signed in to the inspector. */
  readonly isVisitor?: boolean | undefined
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** The body, validated by its schema. */
  readonly body: Body
}

export type SessionContext = RouteContext & { readonly session: Session }

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

type Described = {
  readonly summary: string
  readonly tag: string
  /** Whether it is a file of a web page, which the OpenAPI document omits. */
  readonly isPage?: true | undefined
  readonly body?: JsonSchema | undefined
  readonly query?: Readonly<Record<string, JsonSchema>> | undefined
  readonly headers?: Readonly<Record<string, JsonSchema>> | undefined
  readonly responses: Readonly<Record<number, RouteResponse>>
  /** The codes of problems that are specific to it; those of every route are added. */
  readonly problems?: readonly ProblemCode[] | undefined
}

type CallerRoute = Described & { handle(context: RouteContext): Promise<Response> }
type SessionRoute = Described & { handle(context: SessionContext): Promise<Response> }

export type RouteResponse = {
  readonly description: string
  readonly schema?: JsonSchema | undefined
  /** The media type. Default: `application/json`. */
  readonly type?: string | undefined
}

/** One route: its documentation, its input, and its handler. The table of routes is the only list of them. */
export type Route = {
  readonly method: Method
  /** The path, with parameters in braces. */
  readonly path: string
  /** The `operationId` of the document, and the action that `authorize` gets. */
  readonly action: string
} & (
  | (CallerRoute & { readonly access: 'public' | 'caller' })
  | (SessionRoute & { readonly access: 'session' })
)

/** Creates a route without authentication. */
export function publicRoute(method: Method, path: string, action: string, route: CallerRoute): Route {
  return { method, path, action, access: 'public', ...route }
}

/** Creates a route for authenticated callers. */
export function callerRoute(method: Method, path: string, action: string, route: CallerRoute): Route {
  return { method, path, action, access: 'caller', ...route }
}

/**
 * Creates a route of a session, for callers that are allowed to see the session. The path is relative to the session.
 */
export function sessionRoute(method: Method, path: string, action: string, route: SessionRoute): Route {
  return { method, path: `/v1/sessions/{sessionId}${path}`, action, access: 'session', ...route }
}

/** Describes the only response of a route, as JSON. */
export function answer(description: string, schema: JsonSchema, status = 200): Route['responses'] {
  return { [status]: { description, schema } }
}

/** Describes a response with a list: an object with one field. */
export function listResponse(description: string, field: string, items: string): Route['responses'] {
  return answer(description, objectSchema({ [field]: listOf(ref(items)) }))
}

export function json(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return jsonText(status, JSON.stringify(body), headers)
}

/** Creates a JSON response from a body that is already JSON text. */
export function jsonText(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(text, {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  })
}

/** Decodes a percent-encoded text of a client; undefined when it is malformed. */
export function decodeText(value: string): string | undefined {
  return tryOr(() => decodeURIComponent(value), undefined)
}

export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })
export const text = (more: JsonSchema = {}): JsonSchema => ({ type: 'string', ...more })
export const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })
