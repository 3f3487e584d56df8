import { describe, expect, it } from 'vitest';
import { readForeignText } from './foreign-text.ts';
import { scanForSecrets } from './secret-scan.ts';

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** Made here, so that no file of this repository holds one. */
const random = (length: number, of = LETTERS): string =>
  Array.from({ length }, (_, index) => of[(index * 37 + 11 * index * index + 5) % of.length]).join('');
const hex = (length: number): string => random(length, '0123456789abcdef');

const SECRETS: Readonly<Record<string, readonly [name: string, text: string]>> = {
  'an AWS key': ['a.js', `const k = 'AKIA${random(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}'`],
  'an AWS secret': ['a.txt', `AWS_SECRET_ACCESS_KEY=${random(40)}`],
  'a private key': ['a.pem', `-----BEGIN PRIVATE KEY-----\n${random(64)}\n-----END PRIVATE KEY-----`],
  'a key of OpenSSH': ['id', `-----BEGIN OPENSSH PRIVATE KEY-----\n${random(64)}\n-----END OPENSSH PRIVATE KEY-----`],
  'a Slack webhook': [
    'a.js',
    `https://hooks.slack.com/services/T${random(8, 'ABC012')}/B${random(8, 'ABC012')}/${random(24)}`,
  ],
  'a Discord webhook': ['a.js', `'https://discord.com/api/webhooks/123456789012345678/${random(68)}'`],
  'a SendGrid key': ['a.js', `'SG.${random(22)}.${random(43)}'`],
  'a Google client secret': ['a.json', `"client_secret": "GOCSPX-${random(28)}"`],
  'a password without quotes': ['.env', `DB_PASSWORD=${random(12)}!x`],
  'a signing key without quotes': ['config/.env.production', `export JWT_SECRET=${hex(64)} # keep`],
  'a password in YAML': [
    'deploy/values.yaml',
    `  adminPassword: "${random(14)}"`.replace('adminPassword', 'admin_password'),
  ],
  'a database address': ['a.js', `postgres://app:${random(14)}@db.prod.acme.io:5432/x`],
  'a web token': ['a.js', `eyJ${random(30)}.eyJ${random(40)}.${random(43)}`],
  'a GitHub token': ['a.md', `ghp_${random(36)}`],
  'a file name': [`src/ghp_${random(36)}.mjs`, ''],
};

describe('the search for secrets', () => {
  it.each(Object.entries(SECRETS))('finds %s', async (_what, [name, text]) => {
    const found = await scanForSecrets([{ name, content: `first line\n${text}\n` }]);
    expect(found.map(({ line }) => line)).toEqual([text === '' ? 0 : 2]);
    expect(JSON.stringify(found.map(({ rule, digest }) => [rule, digest]))).not.toContain(random(12));
  });

  it('keeps nothing of the texts that it was given', async () => {
    performance.clearMarks();
    const found = await scanForSecrets([
      { name: 'a.js', content: 'const a = 1;' },
      { name: `AKIA${random(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}`, content: '' },
      { name: 'b\nc.js', content: 'const b = 1;' },
    ]);
    expect(found).toMatchObject([{ name: expect.stringMatching(/^AKIA/), line: 0 }]);
    expect(performance.getEntriesByType('mark')).toEqual([]);
  });

  it('finds one in a binary file, in UTF-16, and where a comment asks to look away', async () => {
    const [, token] = SECRETS['a GitHub token'] ?? ['', ''];
    const binary = Buffer.concat([Buffer.from([0, 1, 2, 0]), Buffer.from(token), Buffer.from([0, 255])]);
    expect(await scanForSecrets([{ name: 'a.bin', content: binary }])).not.toEqual([]);
    expect(await scanForSecrets([{ name: 'a.txt', content: Buffer.from(token, 'utf16le') }])).not.toEqual([]);
    const [, webhook] = SECRETS['a Slack webhook'] ?? ['', ''];
    const asking = `// secretlint-disable\n${webhook}\n`;
    expect(await scanForSecrets([{ name: 'a.js', content: asking }])).toMatchObject([{ line: 2 }]);
  });

  it('leaves examples, placeholders and code that reads a secret alone', async () => {
    const texts = [
      [
        '.env.example',
        'DB_PASSWORD=changeme\nAPI_KEY=<your key>\nTOKEN=${TOKEN}\nJWT_SECRET=\nSESSION_SECRET=replace-me-please\n',
      ],
      ['src/a.js', 'const password = process.env.DB_PASSWORD;\nconst token = await getToken();\n'],
      ['app.yaml', 'passwordFile: /run/secrets/password\ntoken: null\nsecretName: db-credentials\n'],
      ['README.md', 'Set `AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE`.\n'],
    ].map(([name = '', content = '']) => ({ name, content }));
    expect(await scanForSecrets(texts)).toEqual([]);
  });

  it('takes time in proportion to the text', async () => {
    const hostile = ['eyJ-', 'password=', '-----BEGIN PRIVATE KEY-----', '://:@', ' ', 'AKIA', 'http://a:', 'token: "'];
    for (const part of hostile) {
      const content = part.repeat(1_000_000 / part.length);
      const answer = await readForeignText('scanForSecrets', [[{ name: 'a.yaml', content }]], { maxMs: 5_000 });
      expect(answer.ok, part).toBe(true);
    }
  }, 60_000);
});
