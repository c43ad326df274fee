// The same, and what is recorded is on the disk when the session closes, and nothing waits for it before.

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: 'capstan: the same, on disk when it closes',
  packages: ['capstan'],
  cannot: { plain: 'it always streams from the model' },
  open: async (surroundings) =>
    (await import('../loop/open-capstan.mjs')).openEverything(surroundings, 'exit'),
}
