import type { ToolCallContext } from '../tool/contract.js'
import { CapstanError, markErrorClass } from '../tool/errors.js'
import type { ToolRuntime } from '../tool/runtime.js'

/** A tool was called by a host that does not provide a service that the tool needs. */
export class MissingServiceError extends CapstanError {
  constructor(part: string) {
    super(
      'runtime_part_missing',
      `This host provides no ${part} to tools, so the call cannot be made. Continue without it, or ask the host to provide runtime.${part}.`,
    )
  }
}

markErrorClass(MissingServiceError, 'RuntimePartError')

/** Returns a part of the runtime that a tool needs. Throws {@link MissingServiceError} when the host has none. */
export function requireService<Part extends keyof ToolRuntime>(
  { runtime }: ToolCallContext,
  part: Part,
): NonNullable<ToolRuntime[Part]> {
  const lent = runtime?.[part]
  if (lent === undefined || lent === null) throw new MissingServiceError(part)
  return lent
}
