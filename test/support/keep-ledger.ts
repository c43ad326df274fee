// A set-up file of every test file: only the first of a worker opens the ledger.
import './worker-ledger.js'
