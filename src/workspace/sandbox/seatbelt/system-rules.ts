import type { SbplFilter, SbplRule } from './sbpl.js'

// What every macOS process needs to start, and nothing that gives access outside the sandbox. None of it depends on the
// grant. Services that use the network or store secrets of the user are omitted: keychains (securityd), trust
// evaluation (trustd, which fetches from hosts that a certificate names), preferences, pasteboard, launch services.

/** Reading and executing a program are allowed together: a hidden program cannot be started either. */
export const readOperations: readonly string[] = ['file-read*', 'file-map-executable', 'process-exec*']

/** Services of the system: lookup of accounts and groups by name, and notifications of changed settings. */
const services = [
  'com.apple.system.opendirectoryd.libinfo',
  'com.apple.system.opendirectoryd.membership',
  'com.apple.system.notification_center',
]

/** Information about the machine (sysctl), without the arguments and variables of the user's other processes. */
const facts = [
  ...['activecpu', 'byteorder', 'cacheconfig', 'cachelinesize', 'cachelinesize_compat', 'cachesize'],
  ...[
    'cpu64bit_capable',
    'cpufamily',
    'cpufrequency',
    'cpusubfamily',
    'cpusubtype',
    'cputhreadtype',
    'cputype',
  ],
  ...[
    'l1dcachesize',
    'l1icachesize',
    'l2cachesize',
    'l3cachesize',
    'logicalcpu',
    'logicalcpu_max',
    'machine',
  ],
  ...['memsize', 'model', 'ncpu', 'nperflevels', 'packages', 'pagesize', 'pagesize_compat', 'physicalcpu'],
  ...['physicalcpu_max', 'tbfrequency', 'vectorunit', 'availcpu', 'targettype'],
].map((name) => `hw.${name}`)
const kernelFacts = [
  ...['argmax', 'bootargs', 'boottime', 'hostname', 'iossupportversion', 'maxfilesperproc', 'maxproc'],
  ...['maxprocperuid', 'ngroups', 'osproductversion', 'osrelease', 'ostype', 'osvariant_status', 'osversion'],
  ...['secure_kernel', 'tcsm_available', 'tcsm_enable', 'usrstack64', 'version', 'willshutdown'],
].map((name) => `kern.${name}`)

const named = (name: string, text: string): SbplFilter => ({ kind: 'other', name, words: [{ text }] })
const target = (symbol: string): SbplFilter => ({ kind: 'other', name: 'target', words: [{ symbol }] })

export const processRules: readonly SbplRule[] = [
  { action: 'allow', operations: ['process-fork'], filters: [] },
  { action: 'allow', operations: ['process-info*', 'signal'], filters: [target('same-sandbox')] },
  {
    action: 'allow',
    operations: ['mach-lookup'],
    filters: services.map((service) => named('global-name', service)),
  },
  {
    action: 'allow',
    operations: ['sysctl-read'],
    filters: [
      ...facts,
      ...kernelFacts,
      'security.mac.lockdown_mode_state',
      'sysctl.proc_cputype',
      'vm.loadavg',
    ].map((fact) => named('sysctl-name', fact)),
  },
  {
    action: 'allow',
    operations: ['ipc-posix-shm-read-data'],
    filters: [named('ipc-posix-name', 'apple.shm.notification_center')],
  },
  // Python's multiprocessing cannot start without it.
  { action: 'allow', operations: ['ipc-posix-sem'], filters: [] },
]

/** Where macOS and its package managers install programs and libraries. */
const programs = [
  ...['/System', '/usr', '/bin', '/sbin', '/opt', '/nix', '/Applications'],
  ...['Apple', 'Developer', 'Frameworks', 'Java', 'Perl', 'Python', 'Ruby', 'TeX'].map(
    (name) => `/Library/${name}`,
  ),
  ...['/private/etc', '/private/preboot/Cryptexes', '/private/var/select', '/private/var/db/timezone'],
  ...['/private/var/db/dyld', '/private/var/db/xcode_select_link', '/private/var/db/icu'],
]

/** Accounts, keys and the rules for becoming root; and the other path of the volume with the files of all users. */
const secrets = [
  ...['master.passwd', 'ssh', 'sudoers', 'sudoers.d', 'krb5.keytab', 'openldap', 'cups'].map(
    (name) => `/private/etc/${name}`,
  ),
  '/System/Volumes/Data',
  '/usr/local/var',
  '/opt/homebrew/var',
]

/** Harmless devices that most programs need. */
const devices = ['null', 'zero', 'random', 'urandom', 'dtracehelper'].map((name) => `/dev/${name}`)

const subpath = (path: string): SbplFilter => ({ kind: 'subpath', path })
const literal = (path: string): SbplFilter => ({ kind: 'literal', path })

export const systemRules: readonly SbplRule[] = [
  {
    action: 'allow',
    operations: readOperations,
    filters: programs.map(subpath),
  },
  {
    action: 'allow',
    // A program lists the root when it starts. The top-level links lead to /private.
    operations: ['file-read*'],
    filters: [literal('/'), ...devices.map(literal), subpath('/dev/fd')],
  },
  {
    action: 'allow',
    operations: ['file-write-data'],
    filters: [...devices.map(literal), subpath('/dev/fd')],
  },
  {
    action: 'allow',
    operations: ['file-read-metadata'],
    filters: ['/tmp', '/var', '/etc', '/dev', '/Library', '/private', '/private/var', '/private/var/db'].map(
      literal,
    ),
  },
  {
    action: 'deny',
    operations: readOperations,
    filters: secrets.map(subpath),
  },
]
