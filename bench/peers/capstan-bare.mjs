// Configured like the peers: one rule of the host, no hook, no record. The gate cannot be turned off.

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: 'capstan as it comes',
  packages: ['capstan'],
  cannot: { plain: 'it always streams from the model' },
  open: async (surroundings) =>
    (await import('../loop/open-capstan.mjs')).openCapstan(surroundings, {
      permissionPolicy: { allow: ['read(*)'] },
    }),
}
