/** Nothing that looks like a secret leaves the machine before a person has accepted it. */
import type { RunConfigRequest } from '@autonomous/shared';
import { expect, it } from 'vitest';
import {
  aPlan,
  aScript,
  aServer,
  FILES,
  type Fixture,
  passes,
  runs,
  writes,
} from '../fixtures/orchestrator.fixture.ts';

const TOKEN = ['ghp', 'R4nd0mLettersAndDigits7890abcdefGHIJ'].join('_');
const trusted: RunConfigRequest = {
  trustMode: { planning: 'auto', implementation: 'auto', fixes: 'auto' },
  git: { autoMerge: true },
};

/** Is the token in anything that the remote has? */
async function hasLeaked(server: Fixture): Promise<boolean> {
  const objects = await server.git('cat-file', '--batch-all-objects', '--batch-check=%(objectname) %(objecttype)');
  for (const line of objects.split('\n')) {
    const [oid = '', type = ''] = line.split(' ');
    if (['blob', 'commit', 'tree'].includes(type) && (await server.git('cat-file', '-p', oid)).includes(TOKEN))
      return true;
  }
  return false;
}

it('G04: a result with a secret is not pushed; the pause names file, line and rule, and a person may accept it', async () => {
  const server = await aServer({ script: aScript({ implementer: [writes({ 'src/key.sh': `# a\nT=${TOKEN}\n` })] }) });
  const run = await server.until(await server.launch('Add the feature', trusted), { gate: 'pause' });
  expect(run.gate).toMatchObject({
    reason: 'secret_found',
    concerns: [{ kind: 'secrets', items: [{ path: 'src/key.sh', line: 2 }] }],
  });
  expect(run.gate?.decisions).toContain('accept');
  expect(run.gate?.summary).toContain('src/key.sh:2');
  expect(JSON.stringify(await server.events(run.id))).not.toContain(TOKEN);
  expect(await hasLeaked(server)).toBe(false);

  await server.decide(run, { decision: 'accept', reason: 'a fixture', artifactHash: run.gate?.artifactHash });
  await server.until(run, { status: 'completed' });
  expect(await server.file('main', 'src/key.sh')).toContain(TOKEN);
});

it.each(['squash', 'merge', 'ff'] as const)(
  'a secret that was committed and taken out again is in nothing that is pushed (%s)',
  async (mergeStrategy) => {
    const server = await aServer({
      script: aScript({
        implementer: [writes({ 'key.sh': `T=${TOKEN}\n`, 'a.sh': 'true\n' }), runs('rm key.sh')],
        validator: [passes({ verdict: 'fail', summary: 'Take the key out.', feedback: 'key.sh' }), passes()],
      }),
    });
    const run = await server.launch('Add the feature', { ...trusted, git: { autoMerge: true, mergeStrategy } });
    const done = await server.until(run, { status: 'completed' });
    expect(await server.file('main', 'a.sh')).toBe('true\n');
    expect(await server.file(done.branch, 'a.sh')).toBe('true\n');
    expect(await hasLeaked(server)).toBe(false);
    const log = await server.git('log', '--format=%s', 'main');
    expect(log).toContain('Start');
  },
);

it('G04: names of files, commit messages and plans are looked through as well', async () => {
  const named = await aServer({ script: aScript({ implementer: [writes({ [`src/${TOKEN}.sh`]: 'true\n' })] }) });
  const run = await named.until(await named.launch('Add the feature', trusted), { gate: 'pause' });
  expect(run.gate).toMatchObject({
    reason: 'secret_found',
    concerns: [{ items: [{ reason: expect.stringContaining('in the name') }] }],
  });
  expect(await hasLeaked(named)).toBe(false);

  const hook = ['https://discord.com/api/webhooks', '123456789012345678', 'aB3'.repeat(22)].join('/');
  const plan = aPlan({ plan: `# Plan\n\n${hook}\n\n\`\`\`mermaid\nflowchart TD\n  a --> b\n\`\`\`\n` });
  const planned = await aServer({ script: aScript({ planner: [plan] }) });
  const other = await planned.until(await planned.launch('Add the feature', trusted), { gate: 'pause' });
  expect(other.gate).toMatchObject({ reason: 'secret_found', stage: 'planning' });
});

it('a value that a person accepted is not asked about again where the plan and the record repeat it', async () => {
  const key = ['SK', '3f9a1c7e5b2d80463f9a1c7e5b2d8046'].join('');
  const server = await aServer({ script: aScript() });
  const run = await server.launch(`${key} is the public id of our test account, use it`, trusted);
  const view = await server.until(run, { gate: 'pause' });
  expect(view.gate?.reason).toBe('secret_found');
  await server.decide(view, { decision: 'accept', reason: 'It is no secret', artifactHash: view.gate?.artifactHash });
  await server.until(run, { status: 'completed' });
});

it('what the base commit holds already is not asked about', async () => {
  const server = await aServer({
    files: { ...FILES, 'old.sh': `T=${TOKEN}\n` },
    script: aScript({ implementer: [runs('echo true >> old.sh')] }),
  });
  const run = await server.until(await server.launch('Add the feature', trusted), { status: 'completed' });
  expect(run.acceptedConcerns).toBeUndefined();
});

it('G04 G05: the record on the remote has a mark in place of each secret that stopped the run, in any dress', async () => {
  const secrets = [
    ['https://discord.com/api/webhooks', '123456789012345678', 'aB3'.repeat(22)].join('/'),
    ['GOCSPX', 'aB3dE5fG7hI9jK1lM3nO5pQ7'].join('-'),
    ['hf', 'aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgHi'].join('_'),
    `DB_PASSWORD=${['hunter2Zx9', 'Qk81Lm'].join('')}`,
  ];
  const printed = secrets.map((each) => `'${each}'`).join(' ');
  const base64 = Buffer.from(`word ${['hunter2Zx9', 'Qk81Lm'].join('')} word`).toString('base64');
  const implementer = [runs(`echo ${base64}; printf '%s\\n' ${printed} > app.conf; cat app.conf`)];
  const server = await aServer({ script: aScript({ implementer }) });
  const run = await server.until(await server.launch('Add the feature', trusted), { gate: 'pause' });
  expect(run.gate).toMatchObject({ reason: 'secret_found' });
  await server.orchestrator.settled();
  const objects = await server.git('cat-file', '--batch-all-objects', '--batch-check=%(objectname) %(objecttype)');
  const marks = ['aB3aB3aB3aB3', 'GOCSPX-', 'aBcDeFgHiJkLm', 'hunter2Zx9', 'hf_aB'];
  for (const line of objects.split('\n').filter((each) => each.includes(' '))) {
    const text = await server.git('cat-file', '-p', line.split(' ')[0] ?? '');
    expect(marks.filter((mark) => text.includes(mark))).toEqual([]);
  }
  const transcript = await server.git('show', `autonomous/record:.autonomous/runs/${run.id}/transcript.jsonl`);
  for (const line of transcript.trim().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow();
  expect(transcript).toContain('[secret: Google client secret]');
  expect(transcript).not.toContain(base64);
});
