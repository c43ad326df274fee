// With everything on except the record: the cost of rules, watchdog, hook and events alone.

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: 'capstan: rules, watchdog, hook, no record',
  packages: ['capstan'],
  cannot: { plain: 'it always streams from the model' },
  open: async (surroundings) => {
    const { openCapstan } = await import('../loop/open-capstan.mjs')
    const { hostOptions } = await import('../loop/host-options.mjs')
    return openCapstan(surroundings, hostOptions)
  },
}
