/** Each known way in which bubblewrap fails is named, with the line that mends it. */
import { expect, it } from 'vitest';
import { explainFailure, type HostFacts } from './bubblewrap-diagnosis.ts';

const DEBIAN: HostFacts = {
  platform: 'linux',
  osRelease: 'PRETTY_NAME="Debian"\nID=debian\n',
  usernsClone: '1',
  maxUserNamespaces: '96000',
  apparmorRestriction: null,
  container: false,
};
const NO_NAMESPACE =
  'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.';
const NO_UID_MAP = 'bwrap: setting up uid map: Permission denied';

it.each([
  [
    'a missing bwrap on Debian',
    "nice: 'bwrap': No such file or directory",
    DEBIAN,
    'not installed',
    'sudo apt-get install bubblewrap',
  ],
  [
    'a missing bwrap on Fedora',
    'nice: ‘bwrap’: No such file or directory',
    { ...DEBIAN, osRelease: 'ID=fedora' },
    'not installed',
    'sudo dnf install bubblewrap',
  ],
  [
    'a missing bwrap on Rocky',
    "nice: 'bwrap': No such file or directory",
    { ...DEBIAN, osRelease: 'ID=rocky\nID_LIKE="rhel centos fedora"' },
    'not installed',
    'sudo dnf install bubblewrap',
  ],
  [
    'a missing bwrap on Arch',
    "nice: 'bwrap': No such file or directory",
    { ...DEBIAN, osRelease: 'ID=arch' },
    'not installed',
    'sudo pacman -S bubblewrap',
  ],
  [
    'a missing bwrap on Alpine',
    "nice: can't execute 'bwrap': No such file or directory",
    { ...DEBIAN, osRelease: 'ID=alpine' },
    'not installed',
    'sudo apk add bubblewrap',
  ],
  [
    'a missing prlimit',
    'bwrap: execvp prlimit: No such file or directory',
    DEBIAN,
    'prlimit',
    'sudo apt-get install util-linux',
  ],
  ['an old bwrap', 'bwrap: Unknown option --disable-userns', DEBIAN, 'too old', '0.8'],
  [
    'namespaces switched off',
    NO_NAMESPACE,
    { ...DEBIAN, usernsClone: '0' },
    'kernel.unprivileged_userns_clone = 0',
    'sudo sysctl -w kernel.unprivileged_userns_clone=1',
  ],
  [
    'no namespaces allowed',
    'bwrap: Creating new namespace failed: No space left on device',
    { ...DEBIAN, maxUserNamespaces: '0' },
    'user.max_user_namespaces = 0',
    'sudo sysctl -w user.max_user_namespaces=15000',
  ],
  [
    'AppArmor on Ubuntu 24.04',
    NO_UID_MAP,
    { ...DEBIAN, osRelease: 'ID=ubuntu', apparmorRestriction: '1' },
    'AppArmor',
    '/etc/apparmor.d/bwrap',
  ],
  [
    'a container',
    'bwrap: Creating new namespace failed: Operation not permitted',
    { ...DEBIAN, container: true },
    'container forbids',
    '--security-opt seccomp=unconfined',
  ],
  [
    'a container that masks /proc',
    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
    { ...DEBIAN, container: true },
    'hides parts of /proc',
    'systempaths=unconfined',
  ],
  ['another system', '', { ...DEBIAN, platform: 'darwin' as const }, 'needs Linux; this is darwin', 'E2B'],
  [
    'a folder to mount that is gone',
    "bwrap: Can't find source path /gone: No such file or directory",
    DEBIAN,
    'the folder /gone cannot be used: No such file or directory',
    'Set TMPDIR',
  ],
  [
    'a folder that may not be entered, in a container',
    "bwrap: Can't chdir to /workspace: Permission denied",
    { ...DEBIAN, container: true },
    'the folder /srv/tmp cannot be used: Permission denied',
    'Set TMPDIR',
  ],
  [
    'a file in the place of the folder',
    "bwrap: Can't chdir to /workspace: Not a directory",
    DEBIAN,
    'the folder /srv/tmp cannot be used: Not a directory',
    'Set TMPDIR',
  ],
  [
    'variables that are too long',
    'bwrap: execvp prlimit: Argument list too long',
    DEBIAN,
    'the command and its variables are too long',
    'Shorten the variables',
  ],
  ['anything else', 'bwrap: something new', DEBIAN, 'something new', 'bwrap --ro-bind / / true'],
])('explains %s', (_what, failure, facts, reason, remedy) => {
  const answer = explainFailure(failure, 'bwrap', facts, { folder: '/srv/tmp', remedy: 'Set TMPDIR' });
  expect(answer.ok).toBe(false);
  expect(answer.reason).toContain(reason);
  expect(answer.remedy).toContain(remedy);
});
