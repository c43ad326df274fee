import type { JsonSchema } from '../tool/json.js'
import { type ProblemCode, problemTypes } from './problem.js'
import type { Body, Route } from './route.js'
import { componentSchemas } from './schemas.js'

/** Creates the OpenAPI 3.1 document of a table of routes. */
export function openApiDocument(routes: readonly Route[], version: string): Body {
  const paths: Record<string, Body> = {}
  for (const route of routes) {
    if (route.isPage) continue
    const path = paths[route.path] ?? {}
    paths[route.path] = { ...path, [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Capstan server',
      version,
      description:
        'Sessions of an agent on real machines. Errors are problem documents (RFC 9457) with a stable `code`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: { ...componentSchemas },
    },
  }
}

/** The problems that every authenticated route can have. */
const general: readonly ProblemCode[] = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'origin_not_allowed',
  'host_not_allowed',
  'rate_limited',
  'internal_error',
]
const withBody: readonly ProblemCode[] = ['unsupported_media_type', 'body_too_large']
const everywhere: readonly ProblemCode[] = ['origin_not_allowed', 'host_not_allowed', 'internal_error']

function operation(route: Route): Body {
  const { action, summary, tag, body, responses, problems = [], access } = route
  const codes = new Set<ProblemCode>([
    ...(access === 'public' ? everywhere : general),
    ...(access === 'session' ? (['session_not_found'] as const) : []),
    ...(route.method === 'GET' ? [] : withBody),
    ...problems,
  ])
  const parameters = parametersOf(route)
  return {
    operationId: action,
    summary,
    tags: [tag],
    ...(access === 'public' && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: Array.isArray(body['required']) && body['required'].length > 0,
        content: { 'application/json': { schema: body } },
      },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, { description, schema, type = 'application/json' }]) => [
          status,
          { description, ...(schema !== undefined && { content: { [type]: { schema } } }) },
        ]),
      ),
      ...problemResponses([...codes], Object.keys(responses)),
    },
  }
}

function parametersOf({ path, query = {}, headers = {} }: Route): Body[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) =>
    parameter('path', name, { type: 'string' }, true),
  )
  return [
    ...inPath,
    ...Object.entries(query).map(([name, schema]) => parameter('query', name, schema)),
    ...Object.entries(headers).map(([name, schema]) => parameter('header', name, schema)),
  ]
}

function parameter(
  place: string,
  name: string,
  { description, ...schema }: JsonSchema,
  required = false,
): Body {
  return {
    name,
    in: place,
    required,
    schema,
    ...(typeof description === 'string' && { description }),
  }
}

/** Creates one response for each status, which lists its codes. */
function problemResponses(codes: readonly ProblemCode[], taken: readonly string[]): Body {
  const byStatus = new Map<string, ProblemCode[]>()
  for (const code of codes) {
    const status = String(problemTypes[code].status)
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus]
      .filter(([status]) => !taken.includes(status))
      .map(([status, all]) => [
        status,
        {
          description: all.map((code) => `\`${code}\`: ${problemTypes[code].title}`).join(' '),
          content: {
            'application/problem+json': {
              schema: {
                allOf: [
                  { $ref: '#/components/schemas/Problem' },
                  { type: 'object', properties: { code: { type: 'string', enum: [...all] } } },
                ],
              },
            },
          },
        },
      ]),
  )
}
