/** Explains why no bubblewrap sandbox can be started on this machine, with the line that fixes it. */
import { existsSync, readFileSync } from 'node:fs';
import type { Availability } from '../sandbox.ts';
import { WORKSPACE } from './bubblewrap-profile.ts';

/** Settings of the machine; `null` for one that it does not have. */
export interface HostFacts {
  readonly platform: NodeJS.Platform;
  /** Text of /etc/os-release. */
  readonly osRelease: string;
  /** `kernel.unprivileged_userns_clone` (Debian). */
  readonly usernsClone: string | null;
  /** `user.max_user_namespaces` */
  readonly maxUserNamespaces: string | null;
  /** `kernel.apparmor_restrict_unprivileged_userns` (Ubuntu from 23.10 on). */
  readonly apparmorRestriction: string | null;
  readonly container: boolean;
}

const UNUSABLE_FOLDER =
  /^bwrap: Can't (?:chdir to|find source path) (.+): (No such file or directory|Not a directory|Permission denied)$/m;

export type Unavailable = Extract<Availability, { ok: false }>;

export function readHostFacts(): HostFacts {
  return {
    platform: process.platform,
    osRelease: read('/etc/os-release') ?? '',
    usernsClone: read('/proc/sys/kernel/unprivileged_userns_clone'),
    maxUserNamespaces: read('/proc/sys/user/max_user_namespaces'),
    apparmorRestriction: read('/proc/sys/kernel/apparmor_restrict_unprivileged_userns'),
    container:
      existsSync('/.dockerenv') ||
      existsSync('/run/.containerenv') ||
      process.env['KUBERNETES_SERVICE_HOST'] !== undefined,
  };
}

/** The sandbox's folder on the host, and the way out where it, or another one that is mounted, cannot be used. */
export interface Place {
  readonly folder: string;
  readonly remedy: string;
}

/** @param failure what bwrap, or the shell that should have started it, wrote before it gave up */
export function explainFailure(failure: string, bwrap: string, facts: HostFacts, place: Place): Unavailable {
  const says = failure.trim().split('\n').slice(-3).join(' ');
  if (facts.platform !== 'linux') {
    return unavailable(
      `bubblewrap needs Linux; this is ${facts.platform}`,
      'Use an E2B sandbox, or run the server on Linux or in WSL2.',
    );
  }
  if (/^nice: .*(No such file|not found)|\bnice: can't execute/m.test(failure)) {
    return unavailable(`bubblewrap is not installed (no executable ${bwrap})`, install('bubblewrap', facts));
  }
  if (/^bwrap: execvp .*: Argument list too long$/m.test(failure)) {
    return unavailable(
      'the command and its variables are too long',
      'Shorten the variables: Linux takes 128 kB for one, and about 2 MB for all together.',
    );
  }
  const [, path, why] = UNUSABLE_FOLDER.exec(failure) ?? [];
  if (path !== undefined) {
    const folder = path === WORKSPACE ? place.folder : path;
    return unavailable(`the folder ${folder} cannot be used: ${why}`, place.remedy);
  }
  if (/execvp prlimit/.test(failure)) {
    return unavailable('the program prlimit, which sets the limits, is not installed', install('util-linux', facts));
  }
  if (/Resource temporarily unavailable|Cannot fork/i.test(failure)) {
    return unavailable(
      `the server may start no further process: ${says}`,
      "Raise the limit of processes of the server's user (ulimit -u, TasksMax of a systemd unit, --pids-limit of a container), or end others.",
    );
  }
  if (/Unknown option/i.test(failure)) {
    return unavailable(`bubblewrap is too old: ${says}`, `${install('bubblewrap', facts)} (0.8 or later is needed)`);
  }
  if (/[Cc]an't mount proc|Can't remount readonly on \/newroot\/proc/.test(failure) && facts.container) {
    return unavailable(
      `this container hides parts of /proc: ${says}`,
      'Start the container with --security-opt systempaths=unconfined, or use an E2B sandbox.',
    );
  }
  if (/namespace|uid map|No permissions|Operation not permitted|Permission denied|No space left/i.test(failure)) {
    return explainNamespaces(says, facts);
  }
  return unavailable(
    `bubblewrap cannot start a sandbox: ${says || 'it gave no reason'}`,
    `Run "${bwrap} --ro-bind / / true" to see why.`,
  );
}

function explainNamespaces(says: string, facts: HostFacts): Unavailable {
  if (facts.usernsClone === '0') {
    return unavailable(
      'user namespaces are switched off (kernel.unprivileged_userns_clone = 0)',
      'sudo sysctl -w kernel.unprivileged_userns_clone=1',
    );
  }
  if (facts.maxUserNamespaces === '0') {
    return unavailable(
      'no user namespaces are allowed (user.max_user_namespaces = 0)',
      'sudo sysctl -w user.max_user_namespaces=15000',
    );
  }
  if (facts.container) {
    return unavailable(
      `this container forbids user namespaces: ${says}`,
      'Start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, or use an E2B sandbox.',
    );
  }
  if (facts.apparmorRestriction === '1') {
    const profile = String.raw`abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }\n`;
    return unavailable(
      'AppArmor forbids user namespaces (kernel.apparmor_restrict_unprivileged_userns = 1)',
      `printf '${profile}' | sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor`,
    );
  }
  return unavailable(
    `user namespaces are forbidden here: ${says}`,
    'Allow unprivileged user namespaces on this machine, or use an E2B sandbox.',
  );
}

function install(name: string, { osRelease }: HostFacts): string {
  const family = /^(?:ID|ID_LIKE)=.*$/gm;
  const ids = (osRelease.match(family) ?? []).join(' ');
  if (/fedora|rhel|centos/.test(ids)) return `sudo dnf install ${name}`;
  if (/arch/.test(ids)) return `sudo pacman -S ${name}`;
  if (/alpine/.test(ids)) return `sudo apk add ${name}`;
  if (/suse/.test(ids)) return `sudo zypper install ${name}`;
  return `sudo apt-get install ${name}`;
}

function unavailable(reason: string, remedy: string): Unavailable {
  return { ok: false, reason, remedy };
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
