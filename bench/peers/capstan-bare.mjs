// As peers run: no rules of the host's but one, no hook, no record; the gate is there in any case.

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
