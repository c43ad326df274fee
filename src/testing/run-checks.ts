import { type CapstanError, messageOf } from '../tool/errors.js'

/** Runs each check and returns a list of problems, empty when there are none. */
export async function runChecks<Check>(
  checks: Readonly<Record<string, Check>>,
  run: (check: Check) => Promise<void>,
): Promise<string[]> {
  const problems: string[] = []
  for (const [promise, check] of Object.entries(checks)) {
    try {
      await run(check)
    } catch (error) {
      problems.push(`it does not satisfy "${promise}": ${messageOf(error)}`)
    }
  }
  return problems
}

/** Creates a check that some work is rejected with an error of these classes and this code; it returns the error. */
export function rejectsWith(
  ...classes: readonly (abstract new (
    ...args: never
  ) => CapstanError)[]
): (work: Promise<unknown>, code: string) => Promise<unknown> {
  return async (work, code) => {
    const error = await work.then(
      () => Promise.reject(new Error(`it should have been rejected with ${code}`)),
      (thrown: unknown) => thrown,
    )
    if (classes.some((one) => error instanceof one && error.code === code)) return error
    throw new Error(`it should have been rejected with ${code}, and not with: ${messageOf(error)}`)
  }
}

/** At most 300 characters of a text that can be long, such as JSON. */
export function shortened(json: string): string {
  return json.length <= 300 ? json : `${json.slice(0, 300)}… (${json.length} characters)`
}
