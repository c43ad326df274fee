import { endianness } from 'node:os'

/**
 * Returns the seccomp filter of a sandbox, in the format of bubblewrap's `--seccomp`; undefined for an unsupported
 * processor. It refuses what namespaces do not separate:
 *
 * - the kernel's keyrings (`keyctl`, `add_key`, `request_key`): the session keyring of the host would be readable
 *   inside;
 * - socket families other than Unix, IPv4, IPv6 and netlink: AF_VSOCK reaches the hypervisor from every network
 *   namespace;
 * - `bpf`, `perf_event_open`, `userfaultfd`, `io_uring`, kernel modules and kexec: kernel surface that commands do
 *   not need. `io_uring` could also open sockets that the filter does not see.
 *
 * A refused call fails as on a kernel without it, so programs use their fallback.
 */
export function seccompFilter(arch: string = process.arch): Buffer | undefined {
  const abis = abisOf[arch]
  if (abis === undefined || endianness() !== 'LE') return undefined
  const program = [
    statement(loadWord, offsets.arch),
    ...abis.flatMap((abi) => {
      const section = sectionOf(abi)
      return [jumpIfEqual(abi.audit, 0, section.length), ...section]
    }),
    // An instruction set other than the processor's own two: none of its calls would be recognised.
    statement(answer, refuse(errno.ENOSYS)),
  ]
  return Buffer.concat(program)
}

/** Returns the number of `keyctl` on this processor, for tests of the filter. */
export function keyctlNumber(arch: string = process.arch): number | undefined {
  return abisOf[arch]?.[0]?.refused[2]
}

type Abi = {
  /** AUDIT_ARCH_*: the kernel's identifier of the system call table that a call uses. */
  readonly audit: number
  readonly socket: number
  readonly refused: readonly number[]
  /** Calls from this number on belong to another table (x32). */
  readonly foreignFrom?: number | undefined
}

/**
 * In this order: add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, kexec_load, init_module,
 * finit_module, kexec_file_load.
 */
const x64: Abi = {
  audit: 0xc000003e,
  socket: 41,
  refused: [248, 249, 250, 321, 298, 323, 246, 175, 313, 320],
  foreignFrom: 0x40000000,
}
/** 102 is `socketcall`, which passes the family through a pointer. */
const x86: Abi = {
  audit: 0x40000003,
  socket: 359,
  refused: [286, 287, 288, 357, 336, 374, 283, 128, 350, 102],
}
const arm64: Abi = {
  audit: 0xc00000b7,
  socket: 198,
  refused: [217, 218, 219, 280, 241, 282, 104, 105, 273, 294],
}
const arm: Abi = {
  audit: 0x40000028,
  socket: 281,
  refused: [309, 310, 311, 386, 364, 388, 347, 128, 379, 401],
}

const abisOf: Readonly<Record<string, readonly Abi[]>> = { x64: [x64, x86], arm64: [arm64, arm] }

/** io_uring_setup, io_uring_enter, io_uring_register: the same numbers on every processor. */
const ioUring = [425, 426, 427]

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. */
const families = [1, 2, 10, 16]

const errno = { ENOSYS: 38, EAFNOSUPPORT: 97 }
const offsets = { number: 0, arch: 4, firstArgument: 16 }
const loadWord = 0x20
const answer = 0x06
const jumpEqual = 0x15
const jumpAtLeast = 0x35
const allow = 0x7fff0000

function sectionOf({ socket, refused, foreignFrom }: Abi): Buffer[] {
  const refusal = statement(answer, refuse(errno.ENOSYS))
  const numbers = [...refused, ...ioUring]
  return [
    statement(loadWord, offsets.number),
    ...(foreignFrom === undefined ? [] : [instruction(jumpAtLeast, 0, 1, foreignFrom), refusal]),
    ...numbers.flatMap((number) => [jumpIfEqual(number, 0, 1), refusal]),
    jumpIfEqual(socket, 1, 0),
    statement(answer, allow),
    statement(loadWord, offsets.firstArgument),
    ...families.flatMap((family) => [jumpIfEqual(family, 0, 1), statement(answer, allow)]),
    statement(answer, refuse(errno.EAFNOSUPPORT)),
  ]
}

function refuse(error: number): number {
  return 0x00050000 | error
}

function statement(code: number, k: number): Buffer {
  return instruction(code, 0, 0, k)
}

/** Skips `whenEqual` or `otherwise` instructions. */
function jumpIfEqual(k: number, whenEqual: number, otherwise: number): Buffer {
  return instruction(jumpEqual, whenEqual, otherwise, k)
}

/** struct sock_filter: u16 code, u8 jt, u8 jf, u32 k. */
function instruction(code: number, jt: number, jf: number, k: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(jt, 2)
  bytes.writeUInt8(jf, 3)
  bytes.writeUInt32LE(k >>> 0, 4)
  return bytes
}
