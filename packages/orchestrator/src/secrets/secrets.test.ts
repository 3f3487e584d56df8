import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { growthOf, LINEAR } from '../../test/fixtures/growth.fixture.ts';
import { createScrubber, findSecrets, scrubbedEnd } from './secrets.ts';

// Put together from parts, so that no scanner takes this file for a leak.
const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0iLoRuX';
const samples: Readonly<Record<string, string>> = {
  'GitHub token': `ghp_${letters}`,
  'GitHub app token': `ghs_${letters}`,
  'GitHub fine-grained token': `github_pat_11ABCDEFG0${letters}_${letters}`,
  'Anthropic key': `sk-ant-api03-${letters}-${letters}AA`,
  'OpenAI project key': `sk-proj-${letters}_${letters}`,
  'OpenAI key': `sk-${letters}`,
  'DeepSeek key': `sk-${'0123456789abcdef'.repeat(2)}`,
  'AWS access key': `AKIA${'IOSFODNN7EXAMPLE'}`,
  'Slack token': `xoxb-${'123456789012'}-${letters}`,
  'Google API key': `AIza${letters.slice(0, 35)}`,
  'Telegram bot token': `123456789:AA${letters.slice(0, 33)}`,
  'npm token': `npm_${letters}`,
};
const privateKey = `-----BEGIN ${'RSA '}PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n${`${letters}+/\n`.repeat(20)}-----END RSA PRIVATE KEY-----`;

describe('a scrubber that knows nothing', () => {
  const { scrub } = createScrubber([]);

  it.each(Object.entries(samples))('removes a %s wherever it stands', (_, token) => {
    expect(scrub(`before ${token} after`)).toBe('before [secret] after');
    expect(scrub(`{"key":"${token}"}`)).toBe('{"key":"[secret]"}');
    expect(scrub(`x?key=${token}&y=1`)).toBe('x?key=[secret]&y=1');
  });

  it('removes private keys, whole or cut off, also where line ends are written out', () => {
    expect(scrub(`a\n${privateKey}\nb`)).toBe('a\n[secret]\nb');
    expect(scrub(`a\n${privateKey.slice(0, 400)}`)).toBe('a\n[secret]');
    expect(scrub(JSON.stringify({ key: privateKey }))).toBe('{"key":"[secret]"}');
  });

  it('removes credentials from URLs and headers and leaves the rest readable', () => {
    expect(scrub('fatal: https://x-access-token:hunter2hunter2@github.com/a/b.git')).toBe(
      'fatal: https://[secret]@github.com/a/b.git',
    );
    expect(scrub('postgres://app:pa%40ss@db.internal:5432/x')).toBe('postgres://[secret]@db.internal:5432/x');
    expect(scrub(`https://${letters}@github.com/a`)).toBe('https://[secret]@github.com/a');
    expect(scrub('authorization: Bearer abcdefghijklmnop.qrst')).toBe('authorization: Bearer [secret]');
    expect(scrub('"Authorization":"Basic dXNlcjpwYXNzd29yZA=="')).toBe('"Authorization":"Basic [secret]"');
    expect(scrub('cookie eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N')).toBe('cookie [secret]');
  });

  it('leaves ordinary text alone', () => {
    for (const text of [
      'git clone https://github.com/acme/shop.git and ssh://git@github.com/acme/shop',
      'http://localhost:3001/api/runs?status=running',
      'class="sk-fading-circle-with-many-parts"',
      'the bearer of this letter',
      'desk-based, task-1234567890123456789012, disk-9999999999999999999999',
      'a1b2c3d4e5f60718293a4b5c6d7e8f9012345678',
      'user@example.com: see https://example.com/a:b@c',
    ]) {
      expect(scrub(text)).toBe(text);
    }
  });
});

describe('G05: a scrubber that knows values', () => {
  const secret = 'canary/Value+with "quotes" & ümlaut?';
  const { scrub, scrubJson } = createScrubber([secret, 'plain-canary-42', 'short', '']);

  it('removes them raw and in every usual encoding', () => {
    const bytes = Buffer.from(secret);
    const url = encodeURIComponent(secret);
    for (const form of [
      secret,
      JSON.stringify(secret).slice(1, -1),
      url,
      url.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
      new URLSearchParams({ q: secret }).toString().slice(2),
      bytes.toString('hex'),
      bytes.toString('hex').toUpperCase(),
    ]) {
      expect(scrub(`<${form}>`)).toBe('<[secret]>');
    }
  });

  it('removes them from inside longer base64, whatever stands before and after', () => {
    for (const before of ['', 'u', 'us', 'use', 'x-access-token:']) {
      for (const after of ['', ':', ':x', ':xy']) {
        for (const encoding of ['base64', 'base64url'] as const) {
          const scrubbed = scrub(Buffer.from(`${before}plain-canary-42${after}`).toString(encoding));
          expect(scrubbed).toContain('[secret]');
          expect(Buffer.from(scrubbed.replace('[secret]', ''), 'base64').toString()).not.toContain('canary');
        }
      }
    }
  });

  it('passes over values that are too short to be told from words', () => {
    expect(scrub('a short text')).toBe('a short text');
  });

  it('removes them from strings and keys at any depth, and keeps everything else', () => {
    const value = JSON.parse(
      `{"a":["plain-canary-42",1,null,true,{"b":"x plain-canary-42 y"}],"plain-canary-42":2,"__proto__":{"c":"plain-canary-42"}}`,
    );
    expect(JSON.stringify(scrubJson(value))).toBe(
      '{"a":["[secret]",1,null,true,{"b":"x [secret] y"}],"[secret]":2,"__proto__":{"c":"[secret]"}}',
    );
  });

  it('never leaves one in, changes nothing the second time and keeps JSON parseable', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.string(), fc.constantFrom(secret, 'plain-canary-42', privateKey, ...Object.values(samples))),
        ),
        (parts) => {
          const scrubbed = scrub(parts.join(' '));
          expect(scrubbed).not.toContain('plain-canary-42');
          expect(scrubbed).not.toContain(secret);
          expect(scrub(scrubbed)).toBe(scrubbed);
          JSON.parse(scrub(JSON.stringify(parts)));
        },
      ),
    );
  });
});

it('scrubs large and hostile texts in time that grows with their size alone', () => {
  const { scrub } = createScrubber(Array.from({ length: 20 }, (_, index) => `known-secret-number-${index}-${letters}`));
  const parts = [
    'The quick brown fox jumps. ',
    'sk-',
    'sk-a',
    '-----BEGIN PRIVATE KEY-----',
    'A',
    'http://',
    'http://a:',
    'Bearer ',
    'authorization: basic ',
    'eyJaaaaaaaaaaaa.',
    'token = "',
    ' ',
    '\\n',
    'aws_secret_key = "',
    '0',
  ];
  for (const part of parts) {
    const text = part.repeat(Math.ceil(1_000_000 / part.length));
    const started = process.cpuUsage();
    scrub(text);
    findSecrets(text);
    expect(process.cpuUsage(started).user / 1_000, part).toBeLessThan(20_000);
  }
});

describe('secrets in a file', () => {
  it('are found with their rule and line, and without their value', () => {
    const file = [
      'const a = 1;',
      `const token = '${samples['GitHub token']}';`,
      '',
      `key: ${samples['AWS access key']}`,
      privateKey,
    ].join('\n');
    expect(findSecrets(file)).toEqual([
      { rule: 'GitHub token', line: 2 },
      { rule: 'AWS access key', line: 4 },
      { rule: 'private key', line: 5 },
    ]);
    expect(JSON.stringify(findSecrets(file))).not.toContain(letters);
  });

  it.each([
    `DATABASE_URL=postgres://app:${letters}@db.acme.com/x`,
    `const apiKey = "${letters}";`,
    `  "client_secret": "${letters}=="`,
    `aws_secret_access_key = ${'wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzzz'}`,
  ])('are found in %s', (line) => {
    expect(findSecrets(line)).toHaveLength(1);
  });

  it.each([
    'DATABASE_URL=postgres://postgres:postgres@localhost:5432/app',
    'DATABASE_URL=postgres://user:password@db.example.com/app',
    'DATABASE_URL=postgres://$DB_USER:$DB_PASSWORD@db.acme.com/app',
    'const token = process.env["GITHUB_TOKEN"] ?? "";',
    'const password = "correct-horse-battery-staple-x";',
    "const apiKey = 'your-api-key-goes-here-123';",
    "expect(header).toBe('Bearer test-token-0123456789');",
    '"integrity": "sha512-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08=="',
    `commit a1b2c3d4e5f60718293a4b5c6d7e8f9012345678`,
    'tokenizer: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"',
  ])('are not seen in %s', (line) => {
    expect(findSecrets(line)).toEqual([]);
  });
});

describe('G05: a known value in other dress', () => {
  const value = `0f3a${letters.toLowerCase()}9c1e7b5d2a8f4e6c0b1d3f5a7c9e8b6d4f2a`;
  const { scrub } = createScrubber([value]);
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const lines = (text: string, width: number): string =>
    (text.match(new RegExp(`.{1,${width}}`, 'g')) ?? []).join('\n');
  const hex = Buffer.from(value).toString('hex');
  const pairs = hex.match(/../g) ?? [];

  it.each([
    ['base64 in lines of 76', lines(base64(value), 76)],
    ['base64 in lines of 64 with carriage returns', lines(base64(value), 64).replaceAll('\n', '\r\n')],
    ['base64 in lines of 5', lines(base64(value), 5)],
    ['base64 of a longer text in lines', lines(base64(`export KEY=${value}\nexport B=1`), 76)],
    ['base64 with its line ends written out', lines(base64(value), 76).replaceAll('\n', '\\n')],
    ['base64 twice', base64(base64(value))],
    ['base64 twice, wrapped each time', lines(base64(`${lines(base64(value), 76)}\n`), 76)],
    ['hex with spaces', pairs.join(' ')],
    ['hex in upper case with colons', pairs.join(':').toUpperCase()],
    ['escaped bytes', pairs.map((pair) => `\\x${pair}`).join('')],
    ['a list of bytes', pairs.map((pair) => `0x${pair}`).join(', ')],
    ['percent form of every character', pairs.map((pair) => `%${pair}`).join('')],
    ['upper case', value.toUpperCase()],
    ['backwards', Array.from(value).toReversed().join('')],
    ['a space between characters', Array.from(value).join(' ')],
    ['lines', lines(value, 20)],
  ])('is removed: %s', (_, dressed) => {
    const scrubbed = scrub(`before ${dressed} after`);
    expect(scrubbed).toMatch(/^before \S*\[secret\]\S* after$/);
    expect(scrubbed.length).toBeLessThan(60);
    expect(scrub(scrubbed)).toBe(scrubbed);
  });

  it('leaves ordinary text and the structure of JSON alone', () => {
    const text = `${JSON.stringify({ [value.slice(0, 20)]: value.slice(20) })} 1234 abcdef`;
    expect(scrub(text)).toBe(text);
  });

  it('is removed where an output is cut in the middle of it', () => {
    const output = `${'x'.repeat(50_000)} ${value} ${'y'.repeat(90)}`;
    expect(scrubbedEnd(output, 120, scrub)).not.toContain(value.slice(-20));
    expect(scrubbedEnd(output, 120, scrub)).toHaveLength(120);
  });
});

describe('text written to be slow to scrub', () => {
  const known = Array.from({ length: 12 }, (_, index) => `${index}${letters}${index}`);
  const { scrub } = createScrubber(known);
  it.each([
    ['beginnings of a JSON web token', 'eyJ-'],
    ['dots between them', `${'eyJ-'.repeat(1_000)}.`],
    ['beginnings of private keys', '-----BEGIN PRIVATE KEY-----\n'],
    ['addresses with passwords', 'x://y:'],
    ['beginnings of keys', 'sk-'],
    ['beginnings of known values', known.map((value) => value.slice(0, 30)).join('')],
    ['names of keys', 'aws_secret_access_key'],
  ])('takes time in proportion to its size: %s', async (_, unit) => {
    expect(await growthOf(20_000, (size) => unit.repeat(Math.ceil(size / unit.length)), scrub)).toBeLessThan(LINEAR);
  });

  it('costs no more than other text of its size', () => {
    const costMs = (text: string): number => {
      const before = process.threadCpuUsage();
      scrub(text);
      return process.threadCpuUsage(before).user / 1_000;
    };
    const ordinary = 'the quick brown fox\n'.repeat(50_000);
    costMs(ordinary);
    const base = Math.max(costMs(ordinary), 10);
    expect(costMs('eyJ-'.repeat(250_000)) / base).toBeLessThan(20);
  });
});
