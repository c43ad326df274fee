import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Io } from '../io.js'

/** The user's directory for configuration, rules and sessions: `CAPSTAN_HOME`, else `~/.capstan`. */
export function userDirOf({ env, cwd }: Pick<Io, 'env' | 'cwd'>): string {
  const given = env['CAPSTAN_HOME']
  return given === undefined || given === '' ? join(homedir(), '.capstan') : resolve(cwd, given)
}
