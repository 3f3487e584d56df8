/**
 * System calls that a sandbox is refused, as a classic BPF program for seccomp(2). Namespaces leave some things open:
 * kinds of sockets that ignore network namespaces (AF_VSOCK reaches the machine's hypervisor), rings that create
 * sockets past any filter, keyrings, and parts of the kernel that no build needs. Memory that belongs to no process is
 * refused as well, because a server that is not root has no control group to limit it: anonymous files (memfd_create),
 * which a process can leave in the queue of a socket, and large segments, queues and semaphores of System V. Programs
 * of another instruction set than the machine's own (32 bits) do not run, because their calls have other numbers.
 */

/** Of linux/filter.h and linux/bpf_common.h. */
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;

/** Of linux/seccomp.h: offsets in `struct seccomp_data` on a little-endian machine, and answers. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;
const SECOND_ARGUMENT = 24;
const SECOND_ARGUMENT_HIGH = 28;
const ALLOW = 0x7f_ff_00_00;
const REFUSE_WITH = 0x00_05_00_00;

const EPERM = 1;
const ENOSPC = 28;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. */
const SOCKET_FAMILIES = [1, 2, 10, 16];

/**
 * Bytes of a System V segment that is let through: PostgreSQL's lock is one of 56 bytes. A namespace has at most 4,096 of them,
 * 64 MB together.
 */
const SEGMENT_BYTES = 16 * 1024;

/** The numbers of the second instruction set of x86-64, x32, begin here. */
const X32_NUMBERS = 0x40_00_00_00;

interface Calls {
  readonly architecture: number;
  readonly socket: number;
  /** Refused above {@link SEGMENT_BYTES} as where no more is left. */
  readonly shmget: number;
  /** Answered as where no more is left. */
  readonly exhausted: readonly number[];
  /** Answered as by a kernel that does not have them: programs do without. */
  readonly unknown: readonly number[];
  readonly refused: readonly number[];
}

const CALLS: Readonly<Record<string, Calls>> = {
  x64: {
    architecture: 0xc0_00_00_3e,
    socket: 41,
    shmget: 29,
    // semget, msgget
    exhausted: [64, 68],
    // io_uring_setup, memfd_create, memfd_secret
    unknown: [425, 319, 447],
    // add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd
    refused: [248, 249, 250, 298, 321, 323],
  },
  arm64: {
    architecture: 0xc0_00_00_b7,
    socket: 198,
    shmget: 194,
    exhausted: [190, 186],
    unknown: [425, 279, 447],
    refused: [217, 218, 219, 241, 280, 282],
  },
};

/** An answer, the next instruction, or so many instructions after it. */
type Target = 'next' | 'allow' | 'unknown' | 'refuse' | 'exhausted' | 'family' | number;
type Instruction =
  | { readonly load: number }
  | { readonly code: number; readonly operand: number; readonly ifTrue: Target; readonly ifFalse: Target };

/** @returns the program as bubblewrap's `--seccomp` reads it; `null` for an architecture whose numbers are not known here */
export function systemCallFilter(architecture: string = process.arch): Uint8Array | null {
  const calls = CALLS[architecture];
  if (calls === undefined) return null;
  const when = (operand: number, ifTrue: Target, ifFalse: Target = 'next'): Instruction => ({
    code: JUMP_IF_EQUAL,
    operand,
    ifTrue,
    ifFalse,
  });
  const instructions: Instruction[] = [
    { load: ARCHITECTURE },
    when(calls.architecture, 'next', 'unknown'),
    { load: NUMBER },
    ...(architecture === 'x64'
      ? [{ code: JUMP_IF_AT_LEAST, operand: X32_NUMBERS, ifTrue: 'unknown', ifFalse: 'next' } as const]
      : []),
    ...calls.unknown.map((number) => when(number, 'unknown')),
    ...calls.refused.map((number) => when(number, 'refuse')),
    ...calls.exhausted.map((number) => when(number, 'exhausted')),
    when(calls.shmget, 'next', 4),
    { load: SECOND_ARGUMENT_HIGH },
    when(0, 'next', 'exhausted'),
    { load: SECOND_ARGUMENT },
    { code: JUMP_IF_AT_LEAST, operand: SEGMENT_BYTES + 1, ifTrue: 'exhausted', ifFalse: 'allow' },
    when(calls.socket, 'next', 'allow'),
    { load: FIRST_ARGUMENT },
    ...SOCKET_FAMILIES.map((family) => when(family, 'allow')),
  ];
  return assembled(instructions);
}

/** The answers stand at the end; what falls through is a socket of a family that is not let through. */
function assembled(instructions: readonly Instruction[]): Uint8Array {
  const answers = {
    family: REFUSE_WITH | EAFNOSUPPORT,
    unknown: REFUSE_WITH | ENOSYS,
    refuse: REFUSE_WITH | EPERM,
    exhausted: REFUSE_WITH | ENOSPC,
    allow: ALLOW,
  };
  const places = Object.keys(answers);
  const bytes = Buffer.alloc((instructions.length + places.length) * 8);
  const write = (at: number, code: number, operand: number, ifTrue = 0, ifFalse = 0): void => {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(ifTrue, at * 8 + 2);
    bytes.writeUInt8(ifFalse, at * 8 + 3);
    bytes.writeUInt32LE(operand, at * 8 + 4);
  };
  instructions.forEach((instruction, at) => {
    if ('load' in instruction) {
      write(at, LOAD, instruction.load);
      return;
    }
    const distance = (target: Target): number => {
      if (typeof target === 'number') return target;
      return target === 'next' ? 0 : instructions.length - at - 1 + places.indexOf(target);
    };
    write(at, instruction.code, instruction.operand, distance(instruction.ifTrue), distance(instruction.ifFalse));
  });
  Object.values(answers).forEach((answer, index) => write(instructions.length + index, RETURN, answer));
  return bytes;
}
