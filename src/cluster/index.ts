/** The entry `capstan/cluster`: runs that any of several workers executes. */

export * from '../run-queue/index.js'
