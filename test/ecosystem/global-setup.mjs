/** Installs the packages of users once for all tests. `npm test` has installed them while it built. */
export { installUserPackages as setup } from '../../scripts/user-packages.mjs'
