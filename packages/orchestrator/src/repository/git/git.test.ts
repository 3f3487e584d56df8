import { expect, it } from 'vitest';
import { isStorageFull } from './git.ts';

it.each([
  ["error: couldn't write '/srv/shop.git/./refs/heads/main.lock'", true],
  ["remote: error: couldn't write '/srv/bob's/shop.git/./refs/heads/main.lock'", true],
  ['error: unable to write file objects/ab/cd: No space left on device', true],
  ["error: Unable to create '/srv/shop.git/./refs/heads/main.lock': File exists.", false],
])('the words of git tell whether a disk is full: %s', (words, isFull) => {
  expect(isStorageFull(words)).toBe(isFull);
});
