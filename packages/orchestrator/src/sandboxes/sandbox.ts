/** The port to compute: a box in which a run's files lie and commands run. Adapters lie beside this file. */

export type Availability =
  | { readonly ok: true; readonly detail: string }
  /** `mend` is the line that a person can follow to make it available. */
  | { readonly ok: false; readonly reason: string; readonly mend: string };

export interface SandboxLimits {
  /** Memory of each process, shared mappings included, and of all together with their files in memory, bytes. */
  readonly memoryBytes: number;
  /** Largest file that a process may write, bytes. */
  readonly fileBytes: number;
  /** Processes and their threads, in all; a Node process has about twelve. */
  readonly processes: number;
  /** Processor time of each process, seconds. */
  readonly cpuSeconds: number;
  /** What the folder and HOME may hold together, bytes. Watched, so a fast writer gets some beyond it. Absent: all but the reserve. */
  readonly diskBytes?: number;
}

/** Something that a program inside asked the network for and did not get. Host and message are printable. */
export interface EgressRefusal {
  /** `address`: the name leads into a private network. `fronting`: another host was named inside the request. */
  readonly reason: 'host' | 'port' | 'address' | 'fronting' | 'malformed' | 'limit';
  readonly host: string;
  /** 0 where the request named none. */
  readonly port: number;
  readonly message: string;
}

export interface SandboxSpec {
  /** Names the run and the activity; two sandboxes with the same key are the same work. */
  readonly key: string;
  /** Absolute host folder whose files are the sandbox's `/workspace`; plain files, no `.git`. */
  readonly folder: string;
  /**
   * Absolute host folder that is HOME inside. It keeps what package managers store there between commands and between
   * sandboxes (the install step and the tests that follow it). Absent: HOME is empty for each command.
   */
  readonly home?: string;
  /** Files or folders that are visible and not writable: host path → absolute path inside. */
  readonly readOnly: readonly { readonly host: string; readonly inside: string }[];
  /**
   * `allow`: an egress proxy lets through these hosts, written `host` (ports 443 and 80) or `host:port`, and nothing else; with
   * an empty list it is there to say no, and to tell of it. `internal:` before an entry allows private addresses too: only
   * the operator's configuration may say so. `open` is the host's network as it is, its loopback included.
   */
  readonly network: 'none' | 'open' | { readonly allow: readonly string[] };
  /** Told of what the egress proxy refused, once of each host, port and reason. */
  readonly onRefused?: ((refusal: EgressRefusal) => void) | undefined;
  readonly limits: SandboxLimits;
  /** Gives up opening it: `open` rejects with its reason, and nothing is left of the sandbox. It has no say afterwards. */
  readonly signal?: AbortSignal | undefined;
}

export interface CommandRequest {
  /** Run by `sh -c` in `/workspace`. */
  readonly command: string;
  readonly stdin?: string | Uint8Array;
  readonly timeoutMs: number;
  /** The command needs no network, and gets none: it starts faster than one that has an egress proxy. */
  readonly offline?: true;
  readonly signal?: AbortSignal;
  /** Bytes of stdout and of stderr kept (each); what is beyond is dropped from the middle. Default 1 MB. */
  readonly maxOutputBytes?: number;
  /** Called with decoded output as it comes. */
  readonly onOutput?: (chunk: string) => void;
}

export interface CommandResult {
  /** `null` when the sandbox ended it: time limit, abort, a limit of the sandbox, `dispose`. The last line of `stderr` says which. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  readonly durationMs: number;
}

export interface ProcessRequest {
  /** Run by `sh -c` in `/workspace`. */
  readonly command: string;
  /** Variables beside the sandbox's own; whatever runs in there can read them. They stand on no command line. */
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Bytes of stderr kept; what is beyond is dropped from the middle. Default 1 MB. */
  readonly maxStderrBytes?: number;
}

export interface ProcessExit {
  /** `null` when the sandbox ended it: `end`, abort, a limit of the sandbox, `dispose`. */
  readonly exitCode: number | null;
  readonly stderr: string;
  /** Why the sandbox ended it; `null` when it ended by itself. */
  readonly endedBecause: string | null;
}

/** A process that lives until it ends by itself or is ended, and is spoken to meanwhile. */
export interface SandboxProcess {
  /** Fails when the process has ended. */
  readonly stdin: WritableStream<Uint8Array>;
  /** To be read to its end, or cancelled: a process whose output nobody takes stands still. */
  readonly stdout: ReadableStream<Uint8Array>;
  /**
   * Settles when the process has ended.
   * Rejects with `NeedsHuman`: `sandbox_unavailable` when it could not be started, `storage_full` when the disk is full.
   */
  readonly done: Promise<ProcessExit>;
  /** Kills it with all that it started. May be called twice; the first reason stands. */
  end(because: string): void;
}

export interface Sandbox {
  /** `bubblewrap`, `e2b`, or `none` for the bundled demo where no sandbox exists. */
  readonly provider: string;
  /** @throws {RetryableFailure} `sandbox_unavailable` when the sandbox is lost with all that was not synchronised */
  run(request: CommandRequest): Promise<CommandResult>;
  /** Starts a process without a time limit, under the same other limits as a command. */
  start(request: ProcessRequest): Promise<SandboxProcess>;
  /**
   * Brings the host's folder and HOME up to date with the sandbox's files. Nothing to do where they are shared.
   * @param signal gives it up, with its reason: some of the files may have come, and the next call brings all
   * @throws {RetryableFailure | NeedsHuman} when they cannot be had, or are more than is taken
   */
  sync(signal?: AbortSignal): Promise<void>;
  /** Ends every process inside; what was not synchronised is lost where the folder is not shared. May be called twice. */
  dispose(): Promise<void>;
}

export interface SandboxProvider {
  readonly name: string;
  /**
   * What sandboxes are made from where that is not this machine: what was installed in one fits another of the same name and
   * platform, and no other. Absent where it is this machine.
   */
  readonly platform?: string;
  /** Really starts one. An answer that one can be started is kept for a while: where it costs something, for longer. */
  availability(): Promise<Availability>;
  /**
   * @throws {NeedsHuman} `sandbox_unavailable` when none can be started
   * @throws {RetryableFailure} `sandbox_unavailable` when time may mend that
   */
  open(spec: SandboxSpec): Promise<Sandbox>;
  /**
   * Ends what an earlier process of this server has left running elsewhere; absent where nothing outlives the process.
   * @param openKeys keys of the work that goes on: what stands for it may be taken up again
   */
  endAbandoned?(openKeys: ReadonlySet<string>): Promise<void>;
  /** Ends every sandbox that is still open; absent where none outlives the process. */
  close?(): Promise<void>;
}
