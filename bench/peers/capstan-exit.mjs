// The same, with records that are on disk when the session closes; nothing waits for the disk before that.

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: 'capstan: the same, on disk when it closes',
  packages: ['capstan'],
  cannot: { plain: 'it always streams from the model' },
  open: async (surroundings) =>
    (await import('../loop/open-capstan.mjs')).openEverything(surroundings, 'exit'),
}
