// With defaults and an API key in the configuration: every event, result and message is searched for the key.

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: 'capstan as it comes, with an API key',
  packages: ['capstan'],
  cannot: { plain: 'it always streams from the model' },
  open: async (surroundings) =>
    (await import('../loop/open-capstan.mjs')).openCapstan(
      surroundings,
      { permissionPolicy: { allow: ['read(*)'] } },
      { apiKey: 'a-key-of-the-benchmark-0123456789' },
    ),
}
