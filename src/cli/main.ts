#!/usr/bin/env node
import { startCommand } from './code/start-command.js'
import { packageVersion } from './version.js'

// The executable of the package. It loads as little as possible, so that it starts fast.
const argv = process.argv.slice(2)
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) console.log(packageVersion())
else startCommand(argv)
