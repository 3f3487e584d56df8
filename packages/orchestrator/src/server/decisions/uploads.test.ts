import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openUploads, type Uploads } from './uploads.ts';

describe('uploads', () => {
  let folder: string;
  let uploads: Uploads;
  beforeEach(async () => {
    folder = join(await mkdtemp(join(tmpdir(), 'uploads-')), 'uploads');
    uploads = await openUploads(folder);
  });
  afterEach(() => rm(join(folder, '..'), { recursive: true }));

  const content = Buffer.from('diagram');
  const id = createHash('sha256').update(content).digest('hex');

  it('are stored by the hash of their content, readable and not writable', async () => {
    expect(await uploads.put('plan.svg', content)).toEqual({ id, name: 'plan.svg', bytes: 7 });
    const stored = await uploads.get(id);
    expect(stored).toEqual({ id, name: 'plan.svg', bytes: 7, path: join(folder, id) });
    expect(await readFile(stored!.path)).toEqual(content);
    expect((await stat(stored!.path)).mode & 0o777).toBe(0o444);
  });

  it('are there after a restart', async () => {
    await uploads.put('plan.svg', content);
    expect(await (await openUploads(folder)).get(id)).toMatchObject({ name: 'plan.svg' });
  });

  it('are stored once, under the name given last, also when sent many times at once', async () => {
    await Promise.all(Array.from({ length: 10 }, () => uploads.put('a.svg', content)));
    await uploads.put('b.svg', content);
    expect(await uploads.get(id)).toMatchObject({ name: 'b.svg' });
    expect((await readdir(folder)).toSorted()).toEqual([id, `${id}.name`]);
  });

  it.each([
    ['C:\\fakepath\\plan.svg', 'plan.svg'],
    ['../../etc/passwd', 'passwd'],
    [' plan.svg ', 'plan.svg'],
    ['Plan für März.svg', 'Plan für März.svg'],
  ])('named %j are called %j', async (given, name) => {
    expect(await uploads.put(given, content)).toMatchObject({ name });
  });

  it.each(['', '.', '..', 'a/', 'a\nb', 'a\u0000b', 'ä'.repeat(128)])('named %j are refused', async (name) => {
    await expect(uploads.put(name, content)).rejects.toThrow('is not a valid file name');
    expect(await readdir(folder)).toEqual([]);
  });

  it('are refused when they are empty or have more than 10 MB', async () => {
    await expect(uploads.put('a', new Uint8Array())).rejects.toThrow('empty');
    await expect(uploads.put('a', new Uint8Array(10 * 1024 * 1024 + 1))).rejects.toThrow('10485761 bytes');
    await expect(uploads.put('a', new Uint8Array(10 * 1024 * 1024))).resolves.toMatchObject({
      bytes: 10 * 1024 * 1024,
    });
  });

  it.each(['', 'nothing', '../token', `${id}.name`, '0'.repeat(64)])('are not found by %j', async (unknown) => {
    await uploads.put('plan.svg', content);
    expect(await uploads.get(unknown)).toBeNull();
  });
});
