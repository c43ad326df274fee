import { ensureBuilt } from '../../scripts/build.mjs'

/** Builds the package once for all tests of a tier that run its compiled code. A build of the same sources is reused. */
export async function setup() {
  await ensureBuilt('package')
}
