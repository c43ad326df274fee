// As peers run: no rules of the host's, no hook, no record; the gate is there in any case.
import { openCapstan } from './open-capstan.mjs'

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: 'capstan, as it comes',
  packages: ['capstan'],
  open: (surroundings) => openCapstan(surroundings, { permissionPolicy: { allow: ['read(*)'] } }),
}
