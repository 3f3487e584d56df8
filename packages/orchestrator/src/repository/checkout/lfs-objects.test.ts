/** Contents in Git LFS: from a real HTTP server, also one that lies or hangs, and through checkout and import. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AUTHOR, mainHead, makeProjectFolder, temporaryFolder, write } from '../git-fixture.fixture.ts';
import { GitMirrors } from '../git/git-mirrors.ts';
import { createGitRepository } from '../git-repository.ts';
import { LfsObjects } from './lfs-objects.ts';

const CONTENT = 'picture '.repeat(2_000_000);
const OID = sha256(CONTENT);
const POINTER = pointerTo(OID, CONTENT.length);

let folder: ReturnType<typeof temporaryFolder>;
let closeServer: (() => Promise<void>) | undefined;
beforeEach(() => (folder = temporaryFolder()));
afterEach(async () => {
  await closeServer?.();
  closeServer = undefined;
  folder.remove();
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function pointerTo(oid: string, size: number): string {
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;
}

type Answer = (request: IncomingMessage, response: ServerResponse, url: string) => void;

/** An LFS server, and what of `wanted` is fetched from it. */
async function fetchedFrom(answer: Answer, wanted = { path: 'a.png', oid: sha256('content'), size: 7 }) {
  const authorizations: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization);
    request.resume();
    answer(request, response, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closeServer = () =>
    new Promise((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const mirrors = new GitMirrors({ folder: join(folder.path, 'mirrors'), token: 'secret-token', tokenHost: host });
  const project = { id: 'p-1', repository: `http://${host}/owner/name`, baseBranch: 'main' };
  const place = await mirrors.of(project);
  const { files, faults } = await new LfsObjects(mirrors, 500).fetch(project.repository, place, [wanted]);
  const file = files.get(wanted.oid);
  return {
    content: file === undefined ? null : readFileSync(file, 'utf8'),
    fault: faults.get(wanted.oid) ?? null,
    authorizations,
  };
}

/** Offers the content at a path of the server, with a header of its own. */
function offering(content: string, extra: object = {}): Answer {
  return (request, response, url) => {
    if (request.url === '/owner/name.git/info/lfs/objects/batch') {
      const download = { href: `${url}/store/x`, header: { authorization: 'Bearer for-the-store' } };
      response.end(JSON.stringify({ objects: [{ oid: sha256('content'), actions: { download }, ...extra }] }));
    } else response.end(content);
  };
}

describe('A content in Git LFS', () => {
  it('is had beside one whose pointer names more than is ever fetched', async () => {
    const seed = makeProjectFolder(join(folder.path, 'seed'));
    const oid = sha256('content');
    write(seed, { [`.git/lfs/objects/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`]: 'content' });
    const mirrors = new GitMirrors({ folder: join(folder.path, 'mirrors') });
    const place = await mirrors.of({ id: 'p-1', repository: seed, baseBranch: 'main' });
    const huge = { path: 'a.bin', oid: 'a'.repeat(64), size: 999_999_999_999_999 };
    const { files, faults } = await new LfsObjects(mirrors).fetch(seed, place, [huge, { path: 'b', oid, size: 7 }]);
    expect([[...files.keys()], [...faults.keys()]]).toEqual([[oid], [huge.oid]]);
  });

  it('is fetched by the batch API; the token goes to the server, and the header that it gives to the store', async () => {
    const { content, authorizations } = await fetchedFrom(offering('content'));
    expect(content).toBe('content');
    const token = `Basic ${Buffer.from('x-access-token:secret-token').toString('base64')}`;
    expect(authorizations).toEqual([token, 'Bearer for-the-store']);
  });

  it.each<[string, Answer, string]>([
    ['another content of the same size', offering('CONTENT'), 'its content has another SHA-256'],
    ['a longer one', offering('content and more'), 'it is larger than the 7 bytes'],
    ['a shorter one', offering('con'), 'it has 3 bytes instead of the 7'],
    ['an error for it', offering('', { error: { code: 404 } }), 'does not have it (404)'],
    ['no offer', offering('', { actions: {} }), 'does not offer it'],
    ['something else', (_, response) => void response.end('<html>'), 'something else than the batch API'],
    ['401', (_, response) => void response.writeHead(401).end(), 'asks for a sign-in (401)'],
    ['404', (_, response) => void response.writeHead(404).end(), 'does not have it (404)'],
    ['429', (_, response) => void response.writeHead(429).end(), 'takes no more requests for now (429)'],
    ['a redirect', (_, response) => void response.writeHead(302, { location: '/x' }).end(), 'cannot be fetched'],
    ['nothing at all', () => {}, 'does not answer'],
    [
      'an address in a private network',
      offering('', { actions: { download: { href: 'http://169.254.169.254/latest' } } }),
      'only https, and no private network',
    ],
  ])('is not taken from a server that answers with %s', async (_what, answer, fault) => {
    const fetched = await fetchedFrom(answer);
    expect(fetched.content).toBeNull();
    expect(fetched.fault).toContain(fault);
    expect(JSON.stringify(fetched.fault)).not.toContain('secret-token');
  });

  it('of more than a gigabyte is not asked for', async () => {
    const fetched = await fetchedFrom(offering(''), { path: 'a', oid: sha256('content'), size: 2 ** 31 });
    expect(fetched).toMatchObject({ fault: expect.stringContaining('are more than'), authorizations: [] });
  });
});

describe('A project with Git LFS', () => {
  async function openProject(hasContent: boolean) {
    const seed = makeProjectFolder(join(folder.path, 'seed'), {
      '.gitattributes': '*.png filter=lfs diff=lfs merge=lfs -text\n',
      'art/a.png': POINTER,
      'art/same.png': POINTER,
      'notes.txt': 'notes',
    });
    const objects = join(seed, '.git/lfs/objects', OID.slice(0, 2), OID.slice(2, 4));
    if (hasContent) {
      mkdirSync(objects, { recursive: true });
      writeFileSync(join(objects, OID), CONTENT);
    }
    const repository = createGitRepository({ folder: join(folder.path, 'mirrors'), author: AUTHOR });
    const project = { id: 'p-1', repository: seed, baseBranch: 'main' };
    await repository.fetch(project);
    const tree = await repository.treeOf(project, await mainHead({ repository, project }));
    const work = join(folder.path, 'work');
    const { leftOut } = await repository.checkout(project, tree, work, []);
    const take = () => repository.importFolder(project, { folder: work, baseTree: tree, excludePaths: [] });
    return { repository, project, tree, work, leftOut, take };
  }

  it('has the contents in its folder, and unchanged pointers are taken back byte for byte', async () => {
    const { tree, work, leftOut, take } = await openProject(true);
    expect(leftOut).toEqual([]);
    expect(readFileSync(join(work, 'art/a.png'), 'utf8') === CONTENT).toBe(true);
    expect(statSync(join(work, 'art/a.png')).mode & 0o200).not.toBe(0);
    expect(await take()).toEqual({ tree, files: [], refused: [] });
    write(work, { 'art/a.png': 'another picture', 'notes.txt': 'more' });
    rmSync(join(work, 'art/same.png'));
    const { files, refused } = await take();
    expect(files.map(({ path, status }) => `${status} ${path}`)).toEqual([
      'deleted art/same.png',
      'modified notes.txt',
    ]);
    expect(refused).toEqual([
      { path: 'art/a.png', reason: 'the project keeps it in Git LFS, and changes of such files are not taken' },
    ]);
  });

  it('keeps the pointers where the contents cannot be had, and names them', async () => {
    const { repository, project, tree, work, leftOut, take } = await openProject(false);
    const reason = 'the repository on this machine does not have it: run "git lfs fetch" there';
    expect(leftOut).toEqual(['art/a.png', 'art/same.png'].map((path) => ({ path, kind: 'lfs', reason })));
    expect(await repository.leftOut(project, tree)).toEqual(leftOut);
    expect(readFileSync(join(work, 'art/a.png'), 'utf8')).toBe(POINTER);
    expect(await take()).toEqual({ tree, files: [], refused: [] });
    expect(existsSync(join(folder.path, 'mirrors/p-1.git/lfs/objects', OID.slice(0, 2), OID.slice(2, 4), OID))).toBe(
      false,
    );
  });
});
