/** A run's record without secrets: lines of JSON as the recorder and transcripts write them. */
import { describe, expect, it } from 'vitest';
import { RecordRedactor } from './record-redactor.ts';
import { redactLines, type RedactionTask } from '../secrets/record-redaction.ts';

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** Made here, so that no file of this repository holds one. */
const random = (length: number): string =>
  Array.from({ length }, (_, index) => LETTERS[(index * 37 + 11 * index * index + 5) % LETTERS.length]).join('');

const HOOK = ['https://discord.com/api/webhooks', '123456789012345678', random(66)].join('/');
const CLIENT = ['GOCSPX', random(24)].join('-');
const PASSWORD = `${random(12)}7x`;
const KEY = `-----BEGIN PRIVATE KEY-----\n${random(60)}\n${random(50)}\n-----END PRIVATE KEY-----`;

const entry = (text: string, more: object = {}): string =>
  JSON.stringify({ activity: 'implement', kind: 'output', text, at: '2026-01-01T00:00:00.000Z', ...more });
const scrub = (text: string): string => text.replaceAll('server-secret-1', '[secret]');

/** A redactor that notes what it is asked. */
function aRedactor(given: Partial<ConstructorParameters<typeof RecordRedactor>[0]> = {}) {
  const tasks: RedactionTask[] = [];
  const redactor = new RecordRedactor({
    scrub,
    look: async (task) => {
      tasks.push(task);
      return { ok: true, value: await redactLines(task) };
    },
    ...given,
  });
  const redact = async (...lines: readonly string[]): Promise<readonly string[]> => {
    const { files } = await redactor.redact('r-1', { 'transcript.jsonl': lines.map((line) => `${line}\n`).join('') });
    return files['transcript.jsonl'].split('\n').slice(0, -1);
  };
  return { redactor, redact, tasks };
}

describe('a record without secrets', () => {
  it.each([
    ['a webhook', `see ${HOOK} there`, 'see https://[secret: Discord webhook] there'],
    ['a client secret in a command', `printf '${CLIENT}' > a`, "printf '[secret: Google client secret]' > a"],
    [
      'a setting that a command shows',
      `A=1\nDB_PASSWORD=${PASSWORD}\n`,
      'A=1\nDB_PASSWORD=[secret: password or key in a setting]\n',
    ],
    [
      'a setting in a command',
      `echo DB_PASSWORD=${PASSWORD} >> .env`,
      'echo DB_PASSWORD=[secret: password or key in a setting] >> .env',
    ],
    ['a private key', `${KEY}\nend`, '[secret: private key]\nend'],
    [
      'an address with a password',
      `postgres://app:${PASSWORD}@db.acme.io/x`,
      '[secret: database-connection-string (secretlint)]',
    ],
    ['what the server knows', 'x server-secret-1 x', 'x [secret] x'],
  ])('has a mark in place of %s', async (_what, text, expected) => {
    const [line = ''] = await aRedactor().redact(entry(text));
    expect(JSON.parse(line)).toEqual(JSON.parse(entry(expected)));
  });

  it('keeps lines without secrets to the byte, and every line is JSON', async () => {
    const plain = [
      entry('const token = await getToken();'),
      '{"a":[1,null,true,-1.5],"__proto__":{"b":"x"},"2":"ü\\u0007"}',
      '"x"',
    ];
    const lines = await aRedactor().redact(
      ...plain,
      entry('x', { data: { [CLIENT]: { api_key: PASSWORD }, n: [HOOK] } }),
    );
    expect(lines.slice(0, 3)).toEqual(plain);
    expect(JSON.parse(lines[3] ?? '')).toMatchObject({
      data: {
        '[secret: Google client secret]': { api_key: '[secret: password or key in a setting]' },
        n: ['https://[secret: Discord webhook]'],
      },
    });
  });

  it('finds the value of a secret elsewhere in other dress, in lines before it and in other files', async () => {
    const { redactor } = aRedactor();
    const base64 = Buffer.from(`x=${CLIENT}\n`).toString('base64');
    const wrapped = `${base64.slice(0, 20)}\n${base64.slice(20)}`;
    const { files } = await redactor.redact('r-1', {
      'context.json': JSON.stringify({ runId: 'r-1', request: `echo ${wrapped} | base64 -d` }),
      'events.jsonl': `${entry(`it is ${Array.from(CLIENT).toReversed().join('')}`)}\n`,
      'transcript.jsonl': `${entry(`first ${wrapped}`)}\n${entry(CLIENT)}\n`,
    });
    for (const text of Object.values(files)) {
      expect(text).toContain('[secret: found elsewhere]');
      expect(text).not.toContain(base64.slice(8, 20));
    }
    const later = await redactor.redact('r-1', {
      'transcript.jsonl': `${files['transcript.jsonl']}${entry(wrapped)}\n`,
    });
    expect(later.files['transcript.jsonl']).not.toContain(base64.slice(8, 20));
  });

  it('takes values that are known from elsewhere', async () => {
    const { redactor } = aRedactor();
    const text = entry(`the word is ${PASSWORD}`);
    const before = await redactor.redact('r-1', { 'transcript.jsonl': `${text}\n` });
    expect(before.files['transcript.jsonl']).toContain(PASSWORD);
    const after = await redactor.redact('r-1', { 'transcript.jsonl': `${text}\n` }, [PASSWORD]);
    expect(after.files['transcript.jsonl']).not.toContain(PASSWORD);
  });

  it('looks through each line once by the rules, however often the record is written', async () => {
    const { redact, tasks } = aRedactor();
    const lines: string[] = [];
    for (let write = 0; write < 50; write += 1) {
      lines.push(
        ...Array.from({ length: 20 }, (_, index) => entry(`line ${write}.${index} ${write === 10 ? HOOK : ''}`)),
      );
      await redact(...lines);
    }
    const seen = tasks.filter(({ byRules }) => byRules).flatMap((task) => task.lines);
    expect(seen).toHaveLength(lines.length);
    // The one value that became known cost one more pass.
    expect(tasks.filter(({ byRules }) => !byRules)).toHaveLength(1);
    const last = await redact(...lines);
    expect(last.filter((line) => line.includes('[secret: Discord webhook]'))).toHaveLength(20);
    // A file that is another one than before is looked through again.
    await redact(entry(CLIENT), ...lines);
    expect(tasks.at(-2)?.lines.length).toBe(lines.length + 1);
  });

  it('leaves a line out that cannot be looked through, and says so; the others stay', async () => {
    const hostile = entry(`slow ${CLIENT}`, { at: '2026-02-02T00:00:00.000Z' });
    const { redact, tasks } = aRedactor({
      look: async (task) =>
        task.lines.some((line) => line.includes('slow'))
          ? { ok: false, why: 'took longer than 2 seconds to read' }
          : { ok: true, value: await redactLines(task) },
    });
    const lines = await redact(entry('a'), hostile, entry('b'));
    expect([lines[0], lines[2]]).toEqual([entry('a'), entry('b')]);
    expect(JSON.parse(lines[1] ?? '')).toEqual({
      at: '2026-02-02T00:00:00.000Z',
      activity: 'implement',
      kind: 'output',
      leftOut: 'It could not be looked through for secrets.',
    });
    expect(tasks).toEqual([]);
  });

  it('leaves everything out while nothing can be looked through, and writes it when it can', async () => {
    let isThere = false;
    const { redactor } = aRedactor({
      look: async (task) => {
        if (!isThere) throw new Error('The worker that reads foreign text did not start');
        return { ok: true, value: await redactLines(task) };
      },
    });
    const file = { 'transcript.jsonl': `${entry(CLIENT)}\n${entry('b')}\n` };
    const first = await redactor.redact('r-1', file);
    expect(first.isComplete).toBe(false);
    expect(first.files['transcript.jsonl']).not.toContain(CLIENT);
    expect(first.files['transcript.jsonl'].match(/leftOut/g)).toHaveLength(2);
    isThere = true;
    const next = await redactor.redact('r-1', file);
    expect(next.isComplete).toBe(true);
    expect(next.files['transcript.jsonl']).toContain(entry('b'));
    expect(next.files['transcript.jsonl']).toContain('[secret: Google client secret]');
  });

  it('goes on where time ran out', async () => {
    const { redactor, tasks } = aRedactor({ maxMs: 0 });
    const { isComplete, files } = await redactor.redact('r-1', { 'events.jsonl': `${entry(CLIENT)}\n` });
    expect({ isComplete, tasks }).toEqual({ isComplete: false, tasks: [] });
    expect(files['events.jsonl']).not.toContain(CLIENT);
  });

  it('changes nothing more when it is redacted again', async () => {
    const texts = [
      HOOK,
      CLIENT,
      `DB_PASSWORD=${PASSWORD}`,
      `echo MY_TOKEN=${PASSWORD}`,
      KEY,
      `postgres://app:${PASSWORD}@db.acme.io/x`,
    ];
    const once = await aRedactor().redact(...texts.map((text) => entry(text)));
    expect(await aRedactor().redact(...once)).toEqual(once);
  });

  it('runs in the worker, in time proportional to the text', async () => {
    const redactor = new RecordRedactor({ scrub });
    for (const part of [
      'eyJ-',
      'password=',
      '-----BEGIN PRIVATE KEY-----',
      '://:@',
      ' ',
      'AKIA',
      'http://a:',
      'token: "',
      'A_TOKEN=a1',
    ]) {
      const { isComplete, files } = await redactor.redact(part, {
        'transcript.jsonl': `${entry(part.repeat(1_000_000 / part.length))}\n${entry(CLIENT)}\n`,
      });
      expect({ part, isComplete }).toEqual({ part, isComplete: true });
      expect(files['transcript.jsonl'], part).not.toContain(CLIENT);
      const [first = '', second = ''] = files['transcript.jsonl'].split('\n');
      expect(JSON.parse(first), part).not.toHaveProperty('leftOut');
      expect(second).toContain('[secret: Google client secret]');
    }
  });

  it('gives others their turn while its lines are scrubbed', async () => {
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    const [SLOW_MS, LINES] = [2, 40];
    const { redactor } = aRedactor({
      scrub: (line) => {
        const until = performance.now() + SLOW_MS;
        while (performance.now() < until);
        return line;
      },
      look: async () => ({ ok: true, value: { changed: [], found: [] } }),
    });
    setImmediate(count);
    await redactor.redact('r-1', { 'transcript.jsonl': `${entry('line')}\n`.repeat(LINES) });
    isDone = true;
    expect(turns).toBeGreaterThan(LINES / 10);
  });
});
