/** The Stop hook and the installation of the hooks in real repositories, without a server. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { hookCommands, thisProgram } from '../hooks/hook-command.ts';
import { stateFileOf, writeState } from '../hooks/hook-state.ts';
import { command, makePlace, type Place } from './hook.fixture.ts';

const REFUSED = {
  exitCode: 2,
  stdout: '',
  stderr: [
    '[autonomous-check] Work in progress: "Sign in by a link"',
    '[autonomous-check] Phase: implementing',
    '[autonomous-check] Complete the phase or output <promise>ABORT</promise> to stop',
    '',
  ].join('\n'),
};
const ALLOWED = { exitCode: 0, stdout: '', stderr: '' };
const CLAIM = '<promise>PHASE_COMPLETE:implementing</promise>';

function aPlace(roadmap: string | null = inPhase('implementing')): Place {
  const place = makePlace();
  mkdirSync(path.join(place.repository, 'roadmap'));
  if (roadmap !== null) writeRoadmap(place, roadmap);
  return place;
}

function writeRoadmap({ repository }: Place, text: string): void {
  writeFileSync(path.join(repository, 'roadmap/roadmap.json'), text);
}

function inPhase(phase: string): string {
  return JSON.stringify({ items: [{ id: 'sign-in', title: 'Sign in by a link', workflowState: { phase } }] });
}

/** The hook with an event as Claude Code sends it. */
async function stop(place: Place, fields: object = {}, ...options: readonly string[]) {
  const event = {
    session_id: 's1',
    transcript_path: path.join(place.folder, 'gone.jsonl'),
    cwd: place.repository,
    prompt_id: 'p1',
    hook_event_name: 'Stop',
    stop_hook_active: false,
    last_assistant_message: 'I stop here.',
    ...fields,
  };
  return command(place, ['stop', ...options], Readable.from([JSON.stringify(event)]));
}

const plain = (place: Place, text: string) => command(place, ['stop'], Readable.from([text]));

describe('hook stop', () => {
  it('refuses the stop with three lines while an item is in progress', async () => {
    expect(await stop(aPlace())).toEqual(REFUSED);
  });

  it('allows it when nothing is in progress, when the agent aborts, and for other events', async () => {
    expect(await stop(aPlace(inPhase('completed')))).toEqual(ALLOWED);
    expect(await stop(aPlace(), { last_assistant_message: '<promise>ABORT</promise>' })).toEqual(ALLOWED);
    expect(await stop(aPlace(), { hook_event_name: 'SubagentStop' })).toEqual(ALLOWED);
  });

  it('takes a phase for complete only when the roadmap has the item in a later one', async () => {
    const place = aPlace();
    const claimed = { last_assistant_message: CLAIM, stop_hook_active: true };
    expect(await stop(place, claimed)).toEqual(REFUSED);
    writeRoadmap(place, inPhase('testing'));
    expect(await stop(place, claimed)).toEqual(ALLOWED);
    expect(await stop(place, { ...claimed, prompt_id: 'p2' })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('Phase: testing\n'),
    });
  });

  it('reads promises in the last message alone', async () => {
    expect(await stop(aPlace(), { background_tasks: [{ command: 'echo "<promise>ABORT</promise>"' }] })).toEqual(
      REFUSED,
    );
  });

  it('reads the last message from the transcript where Claude Code sends none', async () => {
    const place = aPlace();
    const transcript = path.join(place.folder, 'session.jsonl');
    const entry = { type: 'assistant', message: { content: [{ type: 'text', text: '<promise>ABORT</promise>' }] } };
    writeFileSync(transcript, `${JSON.stringify(entry)}\n`);
    const event = { last_assistant_message: undefined };
    expect(await stop(place, { ...event, transcript_path: transcript })).toEqual(ALLOWED);
    expect(await stop(place, event)).toEqual(REFUSED);
  });

  it('takes plain text for the words of the agent, in the repository in which it is started', async () => {
    const place = aPlace();
    expect(await plain(place, '')).toEqual(REFUSED);
    expect(await plain(place, CLAIM)).toEqual(REFUSED);
    expect(await plain(place, 'x <promise>ABORT</promise>')).toEqual(ALLOWED);
  });

  it('finds the roadmap from any folder of the repository, also in a work tree of it', async () => {
    const place = aPlace();
    const git = (...words: readonly string[]) =>
      execFileSync('git', ['-C', place.repository, '-c', 'user.name=A', '-c', 'user.email=a@example.com', ...words], {
        stdio: 'pipe',
      });
    git('add', '--all');
    git('commit', '--quiet', '--message', 'Start');
    const tree = path.join(place.folder, 'tree');
    git('worktree', 'add', '--quiet', tree);
    mkdirSync(path.join(tree, 'deep/er'), { recursive: true });
    expect(await stop(place, { cwd: path.join(tree, 'deep/er') })).toEqual(REFUSED);
    expect(await stop(place, { cwd: place.folder })).toEqual(ALLOWED);
  });

  it('allows the stop in silence without a roadmap', async () => {
    expect(await stop(aPlace(null))).toEqual(ALLOWED);
  });

  it.each<[string, string, string]>([
    ['is not JSON', '{"items": [', 'Unexpected end of JSON input'],
    ['has no items', '{"items": {}}', "it has no list 'items'"],
    ['is null', 'null', "it has no list 'items'"],
  ])('allows the stop with a warning when the roadmap %s', async (_, text, fault) => {
    const warning = `[autonomous-check] Warning: Could not read roadmap: ${fault}`;
    expect(await stop(aPlace(text))).toEqual({
      exitCode: 0,
      stdout: `${JSON.stringify({ systemMessage: warning })}\n`,
      stderr: `${warning}\n`,
    });
    expect(await plain(aPlace(text), '')).toEqual({ exitCode: 0, stdout: '', stderr: `${warning}\n` });
  });

  it('allows the stop with a warning when the roadmap is too large or is no file, and waits for no pipe', async () => {
    const place = aPlace();
    const file = path.join(place.repository, 'roadmap/roadmap.json');
    const warning = { exitCode: 0, stderr: expect.stringContaining('Warning: Could not read roadmap: ') };
    truncateSync(file, 9_000_000);
    expect(await stop(place)).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('has more than 8 MB\n') });
    rmSync(file);
    execFileSync('mkfifo', [file]);
    expect(await stop(place)).toMatchObject(warning);
    rmSync(file);
    mkdirSync(file);
    expect(await stop(place)).toMatchObject(warning);
  });

  it('needs nothing of an item but its phase, and shows its title in one line', async () => {
    const items = [null, 7, {}, { workflowState: null }, { workflowState: { phase: 4 } }];
    const odd = { title: 'A\n\u001b[31mB', workflowState: { phase: 'testing' } };
    expect(await stop(aPlace(JSON.stringify({ items })))).toEqual(ALLOWED);
    const { exitCode, stderr } = await stop(aPlace(JSON.stringify({ items: [...items, odd] })));
    expect(exitCode).toBe(2);
    expect(stderr.split('\n')).toHaveLength(4);
    expect(stderr).toMatch(/^\[autonomous-check\] Work in progress: "A [^\u001b]*B"\n/);
    const untitled = { items: [{ workflowState: { phase: 'testing' } }] };
    expect((await stop(aPlace(JSON.stringify(untitled)))).stderr).toContain(': "an item without a title"\n');
  });

  it.each([
    ['JSON that is cut', '{"session_id": "s1", "last_', 'it begins with { and is not JSON'],
    ['more than 8 MB', 'x'.repeat(8_000_001), 'it has more than 8 MB'],
  ])('allows the stop with a warning when its input is %s', async (_, input, fault) => {
    const { exitCode, stderr } = await plain(aPlace(), input);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: `[autonomous-check] Warning: Could not read the hook's input: ${fault}\n`,
    });
  });

  it('allows the stop after so many refusals in a row, and begins again with the next prompt', async () => {
    const place = aPlace();
    const limit = ['--max-blocks', '2'];
    expect(await stop(place, {}, ...limit)).toEqual(REFUSED);
    expect(await stop(place, { stop_hook_active: true }, ...limit)).toEqual(REFUSED);
    expect(await stop(place, { session_id: 's2' }, ...limit)).toEqual(REFUSED);
    const warning =
      '[autonomous-check] Warning: Stop allowed after 2 refusals in a row: "Sign in by a link" is still in phase implementing';
    expect(await stop(place, { stop_hook_active: true }, ...limit)).toEqual({
      exitCode: 0,
      stdout: `${JSON.stringify({ systemMessage: warning })}\n`,
      stderr: `${warning}\n`,
    });
    expect(await stop(place, { prompt_id: 'p2' }, ...limit)).toEqual(REFUSED);
  });

  it('allows the stop after 20 refusals where no other number is given', async () => {
    const place = aPlace();
    for (let count = 0; count < 20; count += 1) expect(await stop(place)).toEqual(REFUSED);
    expect(await stop(place)).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('after 20 refusals') });
  });

  it.each([
    ['the session has no name', { session_id: undefined }, false],
    ['the count cannot be kept', {}, true],
  ])('refuses once when %s', async (_, fields, isBlocked) => {
    const place = aPlace();
    if (isBlocked) writeFileSync(place.state, 'a file');
    expect(await stop(place, fields)).toEqual(REFUSED);
    expect(await stop(place, { ...fields, stop_hook_active: true })).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('refusals cannot be counted'),
    });
  });

  it('keeps its counts for this user alone, takes broken ones for none, and forgets old ones', async () => {
    const place = aPlace();
    await stop(place);
    const folder = path.join(place.state, 'autonomous/hooks');
    const [name = ''] = readdirSync(folder);
    const file = path.join(folder, name);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    writeFileSync(file, '{"count":');
    expect(await stop(place, {}, '--max-blocks', '1')).toEqual(REFUSED);
    utimesSync(file, 0, 0);
    await stop(place, { session_id: 's2' });
    expect(readdirSync(folder)).not.toContain(name);
  });

  it('is refused a limit that is none', async () => {
    expect(await stop(aPlace(), {}, '--max-blocks', '0')).toMatchObject({ exitCode: 64 });
  });
});

describe('hook install', () => {
  const settingsOf = ({ repository }: Place) => path.join(repository, '.claude/settings.json');
  const install = (place: Place, ...words: readonly string[]) => command(place, ['install', ...words]);
  const uninstall = (place: Place, ...words: readonly string[]) => command(place, ['uninstall', ...words]);

  function withSettings(text: string): Place {
    const place = aPlace();
    mkdirSync(path.join(place.repository, '.claude'));
    writeFileSync(settingsOf(place), text);
    return place;
  }

  it('makes the settings with a command that starts the hook, and uninstall removes them', async () => {
    const place = aPlace();
    expect(await install(place)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(
        `installed: the hooks Stop, PreCompact and SessionStart in ${settingsOf(place)}\n`,
      ),
      stderr: expect.stringContaining('The commands name files of this machine'),
    });
    const written = JSON.parse(readFileSync(settingsOf(place), 'utf8'));
    const handler = (subcommand: string, timeout: number) => ({
      type: 'command',
      command: expect.stringMatching(new RegExp(` hook ${subcommand}$`)),
      timeout,
    });
    expect(written).toEqual({
      hooks: {
        Stop: [{ matcher: '', hooks: [handler('stop', 30)] }],
        PreCompact: [{ matcher: '', hooks: [handler('checkpoint', 60)] }],
        SessionStart: [{ matcher: 'compact|clear', hooks: [handler('resume', 30)] }],
      },
    });
    const started = runInShell(place, written.hooks.Stop[0].hooks[0].command);
    expect(started).toEqual({ status: 2, stderr: REFUSED.stderr });
    expect(await uninstall(place)).toEqual({
      exitCode: 0,
      stdout: `taken away: the hooks of this program in ${settingsOf(place)}\n`,
      stderr: '',
    });
    expect(existsSync(path.dirname(settingsOf(place)))).toBe(false);
    expect(readdirSync(path.join(place.state, 'autonomous/hooks'))).toEqual([expect.stringMatching(/^session-/)]);
  });

  function runInShell({ repository, state }: Place, line: string) {
    const event = JSON.stringify({ session_id: 's', cwd: repository, hook_event_name: 'Stop' });
    try {
      execFileSync('sh', ['-c', line], {
        cwd: repository,
        input: event,
        env: { XDG_STATE_HOME: state },
        stdio: 'pipe',
        encoding: 'utf8',
      });
      return { status: 0, stderr: '' };
    } catch (error) {
      const { status, stderr } = error as { readonly status: number; readonly stderr: string }; // of a command that failed
      return { status, stderr };
    }
  }

  it.each([
    '{}',
    '{ }',
    '{\n}\n',
    '{"hooks":{"Stop":[]}}',
    '{\n  "hooks": {}\n}\n',
    '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": [{"hooks": [{"type": "command", "command": "npm test"}]}],\n\t\t"Other": []\n\t}\n}',
    '\ufeff{\r\n  "model": "opus"\r\n}\r\n',
    '{\n  // The model.\n  "model": "opus", // large\n}\n',
    '{\n  "model": "opus" }\n',
  ])(
    'changes nothing else in %j, nothing when it is repeated, and uninstall gives back each character',
    async (text) => {
      const place = withSettings(text);
      expect((await install(place)).exitCode).toBe(0);
      const once = readFileSync(settingsOf(place), 'utf8');
      for (const name of ['stop', 'checkpoint', 'resume']) expect(once).toContain(` hook ${name}"`);
      expect(await install(place)).toEqual({
        exitCode: 0,
        stdout: `${settingsOf(place)} has the hooks Stop, PreCompact and SessionStart already. Nothing was changed.\n`,
        stderr: '',
      });
      expect(readFileSync(settingsOf(place), 'utf8')).toBe(once);
      expect((await uninstall(place)).exitCode).toBe(0);
      expect(readFileSync(settingsOf(place), 'utf8')).toBe(text);
    },
  );

  it('says that Claude Code ignores settings with comments', async () => {
    expect((await install(withSettings('{\n  // none\n}\n'))).stderr).toContain('Claude Code ignores such a file');
    expect((await install(withSettings('{}'))).stderr).not.toContain('ignores');
  });

  it('changes the command of a hook that is there, and uninstall still gives back the first text', async () => {
    const place = withSettings('{ }\n');
    await install(place);
    expect((await install(place, '--max-blocks', '5')).stdout).toContain('changed: the hooks Stop');
    const text = readFileSync(settingsOf(place), 'utf8');
    expect(text.match(/ hook stop/g)).toHaveLength(1);
    expect(text).toContain(' hook stop --max-blocks 5"');
    await uninstall(place);
    expect(readFileSync(settingsOf(place), 'utf8')).toBe('{ }\n');
  });

  it.each([true, false])(
    'completes an installation of the Stop hook alone, and uninstall gives back each character (with its record: %s)',
    async (hasRecord) => {
      const before = '{ "model": "opus" }\n';
      const { Stop: stopCommand } = hookCommands(thisProgram('autonomous'), null);
      const group = { matcher: '', hooks: [{ type: 'command', command: stopCommand, timeout: 30 }] };
      const added = `"hooks": ${JSON.stringify({ Stop: [group] })}, `;
      const older = `{ ${added}"model": "opus" }\n`;
      const place = withSettings(older);
      if (hasRecord) {
        const digest = createHash('sha256').update(older).digest('hex');
        const part = { digest, offset: 2, length: added.length, was: '' };
        const file = stateFileOf({ env: { XDG_STATE_HOME: place.state } }, 'installed', settingsOf(place));
        await writeState(file, { madeFile: false, madeFolder: false, ...part });
      }
      expect(await install(place)).toMatchObject({
        exitCode: 0,
        stdout: expect.stringContaining('changed: the hooks Stop, PreCompact and SessionStart in'),
      });
      const { hooks, model } = JSON.parse(readFileSync(settingsOf(place), 'utf8'));
      expect({ events: Object.keys(hooks), model }).toEqual({
        events: ['Stop', 'PreCompact', 'SessionStart'],
        model: 'opus',
      });
      expect(hooks.Stop).toHaveLength(1);
      await uninstall(place);
      expect(readFileSync(settingsOf(place), 'utf8')).toBe(before);
    },
  );

  it('keeps what a person changed between install and uninstall', async () => {
    const place = aPlace();
    await install(place);
    const settings = JSON.parse(readFileSync(settingsOf(place), 'utf8'));
    writeFileSync(settingsOf(place), `${JSON.stringify({ model: 'opus', ...settings }, null, 4)}\n`);
    await uninstall(place);
    expect(readFileSync(settingsOf(place), 'utf8')).toBe('{\n    "model": "opus"\n}\n');
  });

  it('removes the file that it made also when the layout was changed since, and keeps a folder that has other files', async () => {
    const place = aPlace();
    await install(place);
    const settings = JSON.parse(readFileSync(settingsOf(place), 'utf8'));
    writeFileSync(settingsOf(place), JSON.stringify(settings));
    writeFileSync(path.join(place.repository, '.claude/notes.md'), 'x');
    await uninstall(place);
    expect(readdirSync(path.join(place.repository, '.claude'))).toEqual(['notes.md']);
  });

  it('takes the hook out without its record, and says when there is none', async () => {
    const place = withSettings('{\n  "model": "opus"\n}\n');
    await install(place);
    rmSync(place.state, { recursive: true });
    await uninstall(place);
    expect(readFileSync(settingsOf(place), 'utf8')).toBe('{\n  "model": "opus"\n}\n');
    const nothing = { exitCode: 0, stdout: expect.stringContaining('Nothing was changed.') };
    expect(await uninstall(place)).toMatchObject(nothing);
    expect(await uninstall(aPlace())).toMatchObject(nothing);
  });

  it.each([
    ['{"hooks": ', 'is not JSON from line 1 on'],
    ['[]', 'is not a JSON object'],
    ['{"hooks": {"Stop": {}}}', "has a field 'hooks.Stop' that is not a list"],
    ['{"hooks": {"SessionStart": "x"}}', "has a field 'hooks.SessionStart' that is not a list"],
  ])('refuses the settings %j, and leaves them', async (text, fault) => {
    const place = withSettings(text);
    for (const work of [install, uninstall])
      expect(await work(place)).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining(`${settingsOf(place)} ${fault}`),
      });
    expect(readFileSync(settingsOf(place), 'utf8')).toBe(text);
  });

  it('refuses links and what is no file', async () => {
    const linked = aPlace();
    mkdirSync(path.join(linked.folder, 'elsewhere'));
    symlinkSync(path.join(linked.folder, 'elsewhere'), path.join(linked.repository, '.claude'));
    expect(await install(linked)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is a symbolic link') });
    expect(readdirSync(path.join(linked.folder, 'elsewhere'))).toEqual([]);
    const folder = aPlace();
    mkdirSync(settingsOf(folder), { recursive: true });
    expect(await install(folder)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is no file') });
  });

  it('keeps the mode of the file, and writes into the repository that is named', async () => {
    const place = withSettings('{}\n');
    chmodSync(settingsOf(place), 0o600);
    const elsewhere = { ...aPlace(), state: place.state };
    expect((await install(elsewhere, '--project', path.join(place.repository, 'docs'))).exitCode).toBe(0);
    expect(statSync(settingsOf(place)).mode & 0o777).toBe(0o600);
    expect(existsSync(settingsOf(elsewhere))).toBe(false);
    await uninstall(elsewhere, '--project', place.repository);
    expect(readFileSync(settingsOf(place), 'utf8')).toBe('{}\n');
  });

  it.each(['..', 'gone'])('needs a repository, which %s is not in', async (name) => {
    const place = aPlace();
    expect(await install(place, '--project', path.join('..', '..', name))).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining('is in no git repository'),
    });
  });
});
