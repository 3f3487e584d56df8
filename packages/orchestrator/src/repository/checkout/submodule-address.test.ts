import { expect, it } from 'vitest';
import { parseRemoteAddress } from '../remote-url.ts';
import { submoduleAddress } from './submodule-address.ts';

const LOCAL = '/projects/seed';
const HTTPS = 'https://example.test/acme/app';
const SSH = 'git@example.test:acme/app';
const PORT = 'ssh://git@example.test:2222/acme/app';

const addressOf = async (url: string, outer: string) =>
  (await submoduleAddress({ name: 'lib', url }, parseRemoteAddress(outer))).url;

it.each([
  ['./', LOCAL, LOCAL],
  ['../lib', HTTPS, 'https://example.test/acme/lib'],
  ['./../../other/lib.git', HTTPS, 'https://example.test/other/lib.git'],
  ['../../../lib', PORT, null],
  ['../lib', SSH, 'git@example.test:acme/lib'],
  ['../../other/lib', SSH, 'git@example.test:other/lib'],
  ['../lib', PORT, 'ssh://git@example.test:2222/acme/lib'],
  ['https://elsewhere.test/x', LOCAL, 'https://elsewhere.test/x'],
  ['https://elsewhere.test/x', SSH, 'https://elsewhere.test/x'],
  ['http://10.0.0.1:3000/b/x', 'http://10.0.0.1:3000/a/app', 'http://10.0.0.1:3000/b/x'],
  ['http://10.0.0.1:3001/b/x', 'http://10.0.0.1:3000/a/app', null],
  ['git@example.test:other/x', SSH, 'git@example.test:other/x'],
  ['ssh://git@example.test/other/x', SSH, 'ssh://git@example.test/other/x'],
  ['ssh://git@example.test:2222/other/x', PORT, 'ssh://git@example.test:2222/other/x'],
  ['ssh://git@example.test:22/other/x', PORT, null],
  ['root@example.test:other/x', SSH, null],
  ['git@example.test.evil.test:x', SSH, null],
  ['git@example.test:other/x', HTTPS, null],
])('%s of a project at %s leads to %s', async (url, outer, expected) => {
  if (expected === null) await expect(addressOf(url, outer)).rejects.toThrow('is not used');
  else expect(await addressOf(url, outer)).toBe(expected);
});

it.each([
  ['/etc/secrets', 'a submodule is not read from a folder of this machine'],
  ['file:///etc/secrets', 'a submodule is not read from a folder of this machine'],
  ['../../elsewhere', "it leads out of the project's own repository"],
  ['../lib', "it leads out of the project's own repository"],
  ['../seed/../lib', "it leads out of the project's own repository"],
  ['./link', "it leads out of the project's own repository"],
  ['ext::sh -c touch% PWN', 'is not an allowed address'],
  ['https://user:secret@example.test/x', 'contains a user name or password'],
  ['http://example.test/x', 'only https, and no host of a private network'],
  ['https://169.254.169.254/x', 'only https, and no host of a private network'],
  ['https://localhost/x', 'only https, and no host of a private network'],
  ['https://localhost./x', 'only https, and no host of a private network'],
  ['https://metadata.google.internal./x', 'only https, and no host of a private network'],
  ['git@example.test:x', "over ssh only the project's own host is used"],
  ['-u', 'is not an allowed address'],
  ['-u./payload', 'is not an allowed address'],
])('B05: %s of a project on this machine leads nowhere', async (url, why) => {
  await expect(addressOf(url, LOCAL)).rejects.toThrow(why);
});

it('of which .gitmodules says nothing is left out', async () => {
  await expect(submoduleAddress(undefined, parseRemoteAddress(LOCAL))).rejects.toThrow('.gitmodules does not name');
});
