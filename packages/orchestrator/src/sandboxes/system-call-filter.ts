/**
 * What system calls a sandbox is refused, as a classic BPF program for seccomp(2). The namespaces leave some things open:
 * kinds of sockets that know nothing of network namespaces (AF_VSOCK reaches the machine's hypervisor), rings that make sockets
 * past any filter, keyrings and parts of the kernel that no build needs. Programs of another instruction set than the
 * machine's own (32 bits) do not run, since their calls have other numbers.
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
const ALLOW = 0x7f_ff_00_00;
const REFUSE_WITH = 0x00_05_00_00;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. */
const SOCKET_FAMILIES = [1, 2, 10, 16];

/** The numbers of the second instruction set of x86-64, x32, begin here. */
const X32_NUMBERS = 0x40_00_00_00;

interface Calls {
  readonly architecture: number;
  readonly socket: number;
  /** Answered as by a kernel that does not have them: programs do without. */
  readonly unknown: readonly number[];
  readonly refused: readonly number[];
}

const CALLS: Readonly<Record<string, Calls>> = {
  x64: {
    architecture: 0xc0_00_00_3e,
    socket: 41,
    // io_uring_setup
    unknown: [425],
    // add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd
    refused: [248, 249, 250, 298, 321, 323],
  },
  arm64: {
    architecture: 0xc0_00_00_b7,
    socket: 198,
    unknown: [425],
    refused: [217, 218, 219, 241, 280, 282],
  },
};

type Target = 'next' | 'allow' | 'unknown' | 'refuse' | 'family';
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
    const distance = (target: Target): number =>
      target === 'next' ? 0 : instructions.length - at - 1 + places.indexOf(target);
    write(at, instruction.code, instruction.operand, distance(instruction.ifTrue), distance(instruction.ifFalse));
  });
  Object.values(answers).forEach((answer, index) => write(instructions.length + index, RETURN, answer));
  return bytes;
}
