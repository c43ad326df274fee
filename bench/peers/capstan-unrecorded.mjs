// With everything on but the record: what rules, watchdog, hook and events cost alone.

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
