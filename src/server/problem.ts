import { CapstanError } from '../tool/errors.js'

/** Every error code of the server itself, with status and title. Codes of sessions and stores are in `statusOf`. */
export const problemTypes = {
  invalid_request: { status: 400, title: 'The request is not valid.' },
  option_not_allowed: { status: 400, title: 'This option cannot be set by a client.' },
  unauthorized: { status: 401, title: 'The request has no valid credentials.' },
  sign_in_code_invalid: { status: 401, title: 'The sign-in code is unknown, used or expired.' },
  forbidden: { status: 403, title: 'The caller is not allowed to do this.' },
  origin_not_allowed: { status: 403, title: 'Requests from this origin are not allowed.' },
  workspace_not_allowed: { status: 403, title: 'The workspace is not in the list of allowed workspaces.' },
  host_tool_disabled: { status: 403, title: 'Direct calls of this tool are not enabled.' },
  not_found: { status: 404, title: 'There is no such route.' },
  session_not_found: { status: 404, title: 'There is no such session.' },
  run_not_found: { status: 404, title: 'There is no such run.' },
  approval_not_found: { status: 404, title: 'There is no such approval.' },
  question_not_found: { status: 404, title: 'There is no such question.' },
  link_not_found: { status: 404, title: 'There is no such link.' },
  dead_letter_not_found: { status: 404, title: 'There is no such dead letter.' },
  output_not_found: { status: 404, title: 'The file with the whole output no longer exists.' },
  image_not_found: { status: 404, title: 'There is no such image.' },
  tool_not_found: { status: 404, title: 'There is no such tool.' },
  method_not_allowed: { status: 405, title: 'The route does not have this method.' },
  request_timeout: { status: 408, title: 'The request was not complete in time.' },
  already_answered: { status: 409, title: 'The question has been answered already.' },
  run_not_active: { status: 409, title: 'The run is not active.' },
  run_not_resumable: { status: 409, title: 'The run cannot be resumed.' },
  session_exists: { status: 409, title: 'There is a session with this id already.' },
  session_busy: { status: 409, title: 'The session is busy.' },
  session_locked: { status: 409, title: 'Another process has the session open.' },
  call_may_have_run: { status: 409, title: 'The call may have done some of its work already.' },
  dead_letter_from_log: {
    status: 409,
    title:
      'The dead letter comes from the log of an earlier process. The host retries it with evenIfFromLog, or sets trustStore.',
  },
  dead_letter_without_arguments: {
    status: 409,
    title: 'The arguments of the call were not saved. The host makes the call itself.',
  },
  history_conflict: { status: 409, title: 'The history does not allow this.' },
  body_too_large: { status: 413, title: 'The body of the request is too large.' },
  unsupported_media_type: { status: 415, title: 'The body must be JSON.' },
  host_not_allowed: { status: 421, title: 'The server does not answer for this host name.' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key was used for another request.' },
  rate_limited: { status: 429, title: 'Too many requests.' },
  too_many_streams: { status: 429, title: 'Too many open streams.' },
  too_many_runs: { status: 429, title: 'Too many active runs.' },
  headers_too_large: { status: 431, title: 'The headers of the request are too large.' },
  internal_error: { status: 500, title: 'The server failed.' },
  server_stopping: { status: 503, title: 'The server is stopping.' },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>

export type ProblemCode = keyof typeof problemTypes

/** Why a dead letter cannot be retried through the server. */
export const retryProblems = [
  'host_tool_disabled',
  'dead_letter_from_log',
  'dead_letter_without_arguments',
] as const satisfies readonly ProblemCode[]

export type RetryProblem = (typeof retryProblems)[number]

/** A request that is rejected; it is converted to a problem document. */
export class ProblemError extends Error {
  readonly code: ProblemCode
  readonly headers: Readonly<Record<string, string>>
  readonly fields: Readonly<Record<string, unknown>>

  constructor(
    code: ProblemCode,
    detail?: string,
    more: {
      readonly headers?: Readonly<Record<string, string>> | undefined
      readonly fields?: Readonly<Record<string, unknown>> | undefined
    } = {},
  ) {
    super(detail ?? problemTypes[code].title)
    this.code = code
    this.headers = more.headers ?? {}
    this.fields = more.fields ?? {}
  }
}

/**
 * Converts an error to a problem document (RFC 9457). The text of an unknown error is not shown, because it is not
 * meant for clients.
 */
export function problemResponse(error: unknown): Response {
  if (error instanceof ProblemError) {
    const { status, title } = problemTypes[error.code]
    const detail = error.message === title ? {} : { detail: error.message }
    return document(status, { title, ...detail, code: error.code, ...error.fields }, error.headers)
  }
  if (error instanceof CapstanError) {
    const code = causes[error.code] ?? 'internal_error'
    const { status, title } = problemTypes[code]
    return document(status, { title, detail: error.message, code, cause: error.code })
  }
  if (error instanceof TypeError) {
    const { status, title } = problemTypes.invalid_request
    return document(status, { title, detail: error.message, code: 'invalid_request' })
  }
  const { status, title } = problemTypes.internal_error
  return document(status, { title, code: 'internal_error' })
}

/** The problems for codes of sessions, agents and stores that a client can act on. */
const causes: Readonly<Record<string, ProblemCode>> = {
  session_not_found: 'session_not_found',
  session_busy: 'session_busy',
  session_locked: 'session_locked',
  store_stale: 'session_locked',
  import_bad_line: 'invalid_request',
  import_too_large: 'invalid_request',
  import_empty: 'invalid_request',
  import_exists: 'session_exists',
  session_closed: 'server_stopping',
  session_option: 'invalid_request',
  config_invalid: 'invalid_request',
  invalid_policy: 'invalid_request',
  workspace_unusable: 'workspace_not_allowed',
  no_checkpoint: 'run_not_resumable',
  no_session_store: 'run_not_resumable',
  store_bad_id: 'session_not_found',
  run_conflict: 'idempotency_key_reused',
  run_not_found: 'run_not_found',
  run_ended: 'run_not_active',
  submission_invalid: 'invalid_request',
  approval_not_found: 'approval_not_found',
  question_not_found: 'question_not_found',
  already_answered: 'already_answered',
  tool_input_invalid: 'invalid_request',
}

function document(
  status: number,
  fields: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify({ type: 'about:blank', status, ...fields }), {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
  })
}
