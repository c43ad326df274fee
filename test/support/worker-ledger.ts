import { homedir } from 'node:os'
import { join } from 'node:path'
import { holdLedger } from '../../src/workspace/shell/ledger.js'

// Imported by a set-up file. The process ledger of the worker stays open between its tests, as in a host that has
// several sessions: starting the watcher of a ledger and creating pipes takes longer than most commands of a test. The
// watcher ends with the worker. Tests of the ledger itself use directories of their own.

/** The directory of that ledger: the one that sessions and workspaces use when none is given. */
export const workerLedger = join(homedir(), '.capstan', 'processes')

await holdLedger(workerLedger)
