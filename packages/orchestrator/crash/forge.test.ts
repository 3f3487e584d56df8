import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createGitHubForge } from '../src/forges/github/github.ts';
import { effectsAtForge, openForge, tellForge } from './forge.ts';
import { commitAsColleague, makePlace, makeRemote } from './place.ts';

it('counts pull requests, and each answer of the server as often as it is there', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-forge-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const template = path.join(folder, 'template.git');
  await makeRemote(template, { 'feature.txt': 'bad\n' });
  const place = await makePlace(template);
  onTestFinished(() => place.remove());
  await commitAsColleague(place.remote, 'Feature', { 'feature.txt': 'good\n' }, 'change');
  const forge = await openForge(place.folder);
  onTestFinished(() => forge.close());

  const apiUrl = forge.env['GITHUB_API_URL'] ?? '';
  const token = forge.env['GITHUB_TOKEN'] ?? '';
  const credentials = { kind: 'token', variable: 'GITHUB_TOKEN', token: () => token } as const;
  const repository = createGitHubForge({ apiUrl, credentials, paceMs: 0 }).repository({ owner: 'acme', name: 'notes' });
  const request = { head: 'change', base: 'main', title: 'Change', body: 'Why.', isDraft: false };
  const { number } = (await repository.openPullRequest(request)).pullRequest;
  const asks = { body: 'Not yet.', path: 'feature.txt', text: 'Politely.' };
  await forge.askForChanges(number, asks);
  await forge.askForChanges(number, asks);
  const { threads } = await repository.discussion(number);
  expect(threads).toHaveLength(1);
  const answer = (marker: string) =>
    repository.replyToThread(threads[0]?.id ?? '', { marker, body: `Changed in ${'0123456789'}: Done.` });
  await answer('one');
  expect(effectsAtForge(forge)).toEqual({
    'pull request': new Map([['change to main', 1]]),
    comment: new Map([['#1 thread 1: Changed in <commit>: Done.', 1]]),
    'resolved thread': new Map(),
  });
  // As a server would that does not recognise its own answer.
  await answer('other');
  await repository.resolveThread(threads[0]?.id ?? '');
  expect(effectsAtForge(forge)).toMatchObject({
    comment: new Map([['#1 thread 1: Changed in <commit>: Done.', 2]]),
    'resolved thread': new Map([['#1 thread 1', 1]]),
  });
  expect(tellForge(forge)).toEqual(
    expect.arrayContaining([
      "forge: #1 by octo-server 'Change' open, labels ",
      'forge: #1: review CHANGES_REQUESTED by anna: Not yet.',
      'forge: #1: thread feature.txt:1 is resolved',
      'forge: #1: change to main, not merged',
    ]),
  );
});
