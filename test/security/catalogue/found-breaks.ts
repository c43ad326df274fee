import type { FoundBreak } from './security-case.js'

const names = 'test/security/sandbox/names.test.ts'
const walls = 'test/security/sandbox/walls.test.ts'
const copies = 'src/workspace/backend/command-copy.test.ts'
const inspection = 'src/workspace/egress/inspection.test.ts'

/** Every way out that was found in this sandbox, by a review or a test, with what keeps it closed. */
export const foundBreaks: readonly FoundBreak[] = [
  { found: 'a root host could write settings of the kernel below /proc/sys', attempts: ['kernel settings'] },
  { found: 'kernel keyrings were shared with the host', attempts: ['kernel keyrings'] },
  {
    found: 'files of the kernel that hold memory or addresses could be read',
    attempts: ['kernel memory and firmware'],
  },
  {
    found: 'descriptors that the host had inherited reached the command',
    attempts: ['inherited descriptors'],
  },
  {
    found: 'sockets of the host inside the workspace could be connected to, also renamed ones',
    attempts: ['host Unix sockets'],
  },
  {
    found: 'files that a rule denies could be read by a command that did not name them',
    attempts: ['files denied by rules'],
  },
  {
    found: 'single files of .git were protected, and its index, commondir and attributes were not',
    attempts: ['protected paths'],
  },
  { found: 'a protected directory could be renamed with its parent', attempts: ['protected paths'] },
  {
    found: 'a protected name that did not exist could be made, at any depth, by mkdir, rename or link',
    attempts: ['protected paths'],
  },
  {
    found: 'a control file that was replaced while a command ran could be written',
    test: [names, 'stay inaccessible when the user replaces them'],
  },
  {
    found: 'processes that left group, session and environment outlived their command',
    attempts: ['processes without a sandbox', 'process escape'],
  },
  {
    found: 'the guard closed its listener before the processes of the command had ended',
    test: [walls, 'prints no error about an interrupted call'],
  },
  {
    found: 'a rule that denies a host did not hold for the proxy',
    test: ['test/security/sandbox/allow-hosts.test.ts', 'when the rule denies another one'],
  },
  {
    found: 'pipelined requests passed the limit of connections of the proxy',
    test: [inspection, 'apply to concurrent requests'],
  },
  {
    found: 'a GET with a body in chunks was sent unframed, as a second request',
    test: [inspection, 'sends the body of a GET in chunks as a body'],
  },
  {
    found: 'a secret of a host was in the log of the session',
    test: ['test/cli/network.test.ts', 'shows it nowhere'],
  },
  {
    found: 'modes and dates of files outside could be changed under Landlock',
    attempts: ['modes, dates and links of files outside'],
  },
  {
    found: 'signals, limits and priorities reached processes of the host without a pid namespace',
    attempts: ['processes of the host'],
  },
  {
    found: 'commit() of an overlay wrote through a directory that had become a link',
    test: ['test/workspace/overlay.test.ts', 'a link that was created since has no effect'],
  },
  {
    found:
      'a file that runs as its owner could be made with chmod, with the rights of the host for every user',
    attempts: ['files that run as their owner'],
  },
  {
    found: 'the shared memory of the host was listed under Landlock, with owners and processes',
    attempts: ['process escape'],
  },
  {
    found: 'names of metadata services were refused to tools only, not to commands',
    test: ['test/security/sandbox/rebinding.test.ts', 'of metadata services'],
  },
  {
    found: 'as root without control groups, a fork bomb was faster than the measurement of processes',
    test: ['test/security/sandbox/limits.test.ts', 'never exceeds the limit'],
  },
  {
    found: 'a command that used up its processor time was killed without a word about the limit',
    test: ['test/contract/command-limits.test.ts', 'which limit it was'],
  },
  {
    found:
      'under Landlock, with files that rules deny, /proc/self/net listed the sockets and routes of the host',
    attempts: ['sockets of the host'],
  },
  {
    found:
      'a root host showed commands the files of the system that only root can read, such as old passwords',
    attempts: ['files that only root can read'],
  },
  {
    found: 'on a copy of a workspace, a file that rules deny could be read by the name of a hard link to it',
    test: ['test/workspace/overlay.test.ts', 'handle denied files, discarded changes and jobs'],
  },
  {
    found: 'a file of a directory that rules deny could be read by the name of a hard link in the workspace',
    test: [
      'test/security/sandbox/denied-files.test.ts',
      'are hidden under their other names when a rule denies their directory',
    ],
  },
  {
    found: 'a background command could have a repository taken from its copy before it was examined',
    test: [copies, 'copies a new repository only when no command can change it'],
  },
  {
    found: 'a command that ran while its changes were discarded removed files of the workspace',
    test: [copies, 'copies nothing back after its end'],
  },
  {
    found: 'a writable directory around an overlay was mounted over the copy of its commands',
    test: ['src/workspace/sandbox/bubblewrap.test.ts', 'mounts a copy after a writable directory'],
  },
]
