import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** Thrown when the directory for scratch directories belongs to another user, or others could change its content. */
export class ScratchUnsafeError extends CapstanError {
  constructor(problem: string) {
    super(
      'scratch_unsafe',
      `The base directory for scratch files cannot be used: ${problem}. Choose another baseDir.`,
    )
  }
}

/** Thrown when the session's scratch directory has reached its limit. */
export class ScratchFullError extends CapstanError {
  constructor(bytes: number, limit: number) {
    super(
      'scratch_full',
      `The session's scratch directory is full: ${bytes} more bytes would exceed its limit of ${limit}. Produce less output.`,
    )
  }
}

/** Thrown when the scratch directory was deleted because its session closed. */
export class ScratchClosedError extends CapstanError {
  constructor() {
    super('scratch_closed', 'The scratch directory was closed with its session; open a new session.')
  }
}

/** Thrown when the scratch directory was replaced by another file or directory, which was not touched. */
export class ScratchForeignError extends CapstanError {
  constructor() {
    super(
      'scratch_foreign',
      'The scratch directory was replaced by something else and was not removed; look at it by hand.',
    )
  }
}

for (const [name, errorClass] of Object.entries({
  ScratchUnsafeError,
  ScratchFullError,
  ScratchClosedError,
  ScratchForeignError,
})) {
  markErrorClass(errorClass, name)
}
