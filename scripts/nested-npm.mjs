// npm, started by a script that npm may have started itself.

/** The words that start npm. @param {readonly string[]} args */
export function npmCommand(args) {
  const npm = process.env['npm_execpath']
  return npm?.endsWith('.js') ? [process.execPath, npm, ...args] : ['npm', ...args]
}

/**
 * The environment without the options of the npm command that started this script. They say what that command does:
 * with those of `npm pack --dry-run`, `npm ci` would install nothing. The registry and the like stay.
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {NodeJS.ProcessEnv}
 */
export function npmEnvironment(env = process.env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ofOuterCommand.has(name.toLowerCase())))
}

const ofOuterCommand = new Set(
  [
    ...['dry_run', 'global', 'ignore_scripts', 'include', 'json', 'location', 'omit', 'only', 'optional'],
    ...['package_lock', 'package_lock_only', 'production', 'workspace', 'workspaces'],
  ].map((option) => `npm_config_${option}`),
)
