// With everything turned on that makes a session safe.

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: 'capstan: rules, watchdog, hook, record in files',
  packages: ['capstan'],
  cannot: { plain: 'it always streams from the model' },
  open: async (surroundings) => (await import('../loop/open-capstan.mjs')).openEverything(surroundings),
}
