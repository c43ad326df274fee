export { type AllowPrivate, privateAccess } from './allow-private.js'
export { NetError, type NetErrorCode } from './errors.js'
export { createGuardedFetch, type GuardedFetchOptions, type NetSeams } from './guarded-fetch.js'
