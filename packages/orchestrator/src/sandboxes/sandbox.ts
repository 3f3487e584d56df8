/** Port to sandboxes: isolated places that contain a run's files and run commands. Adapters are in the folders beside. */

export type Availability =
  | { readonly ok: true; readonly detail: string }
  /** `remedy` tells a person in one line how to make it available. */
  | { readonly ok: false; readonly reason: string; readonly remedy: string };

export interface SandboxLimits {
  /** Memory limit in bytes: of each process including shared mappings, and of all processes with their in-memory files. */
  readonly memoryBytes: number;
  /** Size limit of a file that a process writes, bytes. */
  readonly fileBytes: number;
  /** Limit of processes and threads together. A Node process has about twelve threads. */
  readonly processes: number;
  /** Limit of processor time of each process, seconds. */
  readonly cpuSeconds: number;
  /** Limit of the folder and HOME together, bytes. It is polled, so a fast writer exceeds it a little. Absent: all but the reserve. */
  readonly diskBytes?: number;
}

/** Network request of a program inside that was refused. Host and message are printable. */
export interface EgressRefusal {
  /** `address`: the name resolves to a private network. `fronting`: the request inside names another host. */
  readonly reason: 'host' | 'port' | 'address' | 'fronting' | 'malformed' | 'limit';
  readonly host: string;
  /** 0 if the request named none. */
  readonly port: number;
  readonly message: string;
}

export interface SandboxSpec {
  /** Identifies the run and the activity. Two sandboxes with the same key do the same work. */
  readonly key: string;
  /** Absolute host folder that is `/workspace` inside. It contains plain files and no `.git`. */
  readonly folder: string;
  /**
   * Absolute host folder that is HOME inside. Files of package managers stay there between commands and between sandboxes,
   * e.g. from the install step to the tests. Absent: HOME is empty for each command.
   */
  readonly home?: string;
  /** Files or folders that are mounted read-only: host path → absolute path inside. */
  readonly readOnly: readonly { readonly host: string; readonly inside: string }[];
  /**
   * `none`: no network. `open`: the host's network, including its loopback. `allow`: an egress proxy allows only these hosts,
   * written `host` (ports 443 and 80) or `host:port`. With an empty list it refuses and reports every request. `internal:`
   * before an entry also allows private addresses; only the operator's configuration may contain it.
   */
  readonly network: 'none' | 'open' | { readonly allow: readonly string[] };
  /** Called for requests that the egress proxy refused, once per host, port and reason. */
  readonly onRefused?: ((refusal: EgressRefusal) => void) | undefined;
  readonly limits: SandboxLimits;
  /** Aborts `open` only: `open` rejects with the signal's reason and cleans up. Ignored once the sandbox is open. */
  readonly signal?: AbortSignal | undefined;
}

export interface CommandRequest {
  /** Run by `sh -c` in `/workspace`. */
  readonly command: string;
  readonly stdin?: string | Uint8Array;
  readonly timeoutMs: number;
  /** The command gets no network. It starts faster than one with an egress proxy. Absent: the sandbox's network. */
  readonly offline?: true;
  readonly signal?: AbortSignal;
  /** Bytes of stdout and of stderr that are kept (each). The middle of longer output is dropped. Default 1 MB. */
  readonly maxOutputBytes?: number;
  /** Called with decoded output while the command runs. */
  readonly onOutput?: (chunk: string) => void;
}

export interface CommandResult {
  /** `null` if the sandbox ended it: time limit, abort, a sandbox limit, `dispose`. The last line of `stderr` names the cause. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  readonly durationMs: number;
}

export interface ProcessRequest {
  /** Run by `sh -c` in `/workspace`. */
  readonly command: string;
  /** Variables in addition to the sandbox's own. All programs inside can read them; no command line contains them. */
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Bytes of stderr that are kept. The middle of longer output is dropped. Default 1 MB. */
  readonly maxStderrBytes?: number;
}

export interface ProcessExit {
  /** `null` if the sandbox ended it: `end`, abort, a sandbox limit, `dispose`. */
  readonly exitCode: number | null;
  readonly stderr: string;
  /** Reason for which the sandbox ended it; `null` if it ended by itself. */
  readonly endedBecause: string | null;
}

/** Long-running process with open stdin and stdout. It runs until it exits or is ended. */
export interface SandboxProcess {
  /** Writes fail when the process has ended. */
  readonly stdin: WritableStream<Uint8Array>;
  /** Must be read to its end or cancelled: a process blocks when its output is not read. */
  readonly stdout: ReadableStream<Uint8Array>;
  /**
   * Resolves when the process has ended. Rejects with `NeedsHuman`: `sandbox_unavailable` when it could not be started, `storage_full` when the disk is full.
   */
  readonly done: Promise<ProcessExit>;
  /** Kills the process and all processes that it started. May be called twice; the first reason is kept. */
  end(because: string): void;
}

export interface Sandbox {
  /** `bubblewrap`, `e2b`, or `none` for the bundled demo without a sandbox. */
  readonly provider: string;
  /** @throws {RetryableFailure} `sandbox_unavailable` when the sandbox was lost, with all files that were not synchronised */
  run(request: CommandRequest): Promise<CommandResult>;
  /** Starts a process without a time limit. All other limits of a command apply. */
  start(request: ProcessRequest): Promise<SandboxProcess>;
  /**
   * Copies the sandbox's files to the host's folder and HOME. Does nothing if they are shared.
   * @param signal aborts with its reason. Some files may have been copied by then; the next call copies all
   * @throws {RetryableFailure | NeedsHuman} when the files cannot be read, or exceed the limits
   */
  sync(signal?: AbortSignal): Promise<void>;
  /** Ends all processes inside. Files that are neither shared nor synchronised are lost. May be called twice. */
  dispose(): Promise<void>;
}

export interface SandboxProvider {
  readonly name: string;
  /**
   * Identifies the system inside sandboxes if it is not this machine. Installed dependencies can be reused only by sandboxes
   * of the same provider and platform. Absent: this machine.
   */
  readonly platform?: string;
  /** Checks availability by starting a sandbox. A positive answer is cached for a while, longer if a start costs money. */
  availability(): Promise<Availability>;
  /**
   * @throws {NeedsHuman} `sandbox_unavailable` when none can be started
   * @throws {RetryableFailure} `sandbox_unavailable` when a later attempt may succeed
   */
  open(spec: SandboxSpec): Promise<Sandbox>;
  /**
   * Ends sandboxes that an earlier process of this server left running. Absent: none outlives the process.
   * @param openKeys keys of open work, whose sandboxes may be reused
   */
  endAbandoned?(openKeys: ReadonlySet<string>): Promise<void>;
  /** Ends every open sandbox. Absent: none outlives the process. */
  close?(): Promise<void>;
}
