/** The entry `capstan/program`: scripts that call tools, each in its own sandbox. */
export { describeProgram } from './describe-program.js'
export { ProgramError, type ProgramFailureCode } from './machine/errors.js'
export type { CallOptions, PathsRequest, ProgramHost, TextRequest, VerifyRequest } from './machine/host.js'
export type { ProgramLimits } from './machine/limits.js'
export * from './machine/machine.js'
export type { ProgramToolCall } from './machine/program-calls.js'
export type { ProgramJournal, ProgramStep } from './machine/program-journal.js'
export { createProgramTool, type ProgramArgs, type ProgramToolOptions } from './program-tool.js'
