/**
 * The environment of a program that downloads packages: with the certificates that `vitest.config.ts` removes for all
 * others.
 * @returns {NodeJS.ProcessEnv}
 */
export function downloadEnvironment() {
  const { TEST_CA_CERTS: certificates, ...rest } = process.env
  return certificates === undefined ? rest : { ...rest, NODE_EXTRA_CA_CERTS: certificates }
}
