import { describe, expect, it } from 'vitest';
import { readForeignText } from '../foreign-text/foreign-text.ts';
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
  'a password in Python': ['a.py', `DB_PASS = 'Tr0ub4dor&${random(4)}yZ9'`],
  'a random value with a word of a placeholder in it': ['.env', `JWT_SECRET=changemeplease-no-really-Zx81`],
  'a token of a registry': ['.npmrc', `//npm.acme.io/:_authToken=${hex(8)}-${hex(4)}-${hex(12)}`],
  'a login of a registry, by the name of the file': ['.npmrc', `//npm.acme.io/:_auth=${random(40)}`],
  'a login in a .netrc': ['home/.netrc', `machine api.github.com login me password ${random(20)}`],
  'a login in a .pgpass': ['.pgpass', `db.corp.io:5432:app:me:${random(16)}`],
  'a login of git': ['.git-credentials', `https://me:${random(20)}@git.acme.io`],
  'a login of docker': [
    '.docker/config.json',
    `{"auths":{"ghcr.io":{"auth":"${Buffer.from(`me:${random(30)}`).toString('base64')}"}}}`,
  ],
  'a key of a cluster': ['kubeconfig', `    client-key-data: ${Buffer.from(random(80)).toString('base64')}`],
  'a token of a cluster': ['.kube/config', `    token: ${random(40)}`],
  'a key of PuTTY': ['k.ppk', `PuTTY-User-Key-File-3: ssh-ed25519`],
  'a key of age': ['k.txt', `AGE-SECRET-KEY-1${random(58).toUpperCase()}`],
  'a state of Terraform': ['terraform.tfstate', `  "password": "${random(18)}",`],
  'a DigitalOcean token': ['a.sh', `T=dop_v1_${hex(64)}`],
  'a Doppler token': ['a.sh', `T=dp.pt.${random(43)}`],
  'a Notion token': ['a.sh', `T=ntn_${random(46)}`],
  'a Supabase token': ['a.sh', `T=sbp_${hex(40)}`],
  'a Mailgun key': ['a.sh', `T=key-${hex(32)}`],
  'a webhook secret': ['a.env', `STRIPE_WEBHOOK=whsec_${random(32)}`],
  'an Azure client secret': ['a.sh', `T=${random(3)}8Q~${random(34)}`],
  'a Heroku key': ['a.sh', `HEROKU_API_KEY=${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`],
  'a file name': [`src/ghp_${random(36)}.mjs`, ''],
};

describe('G04: the search for secrets', () => {
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

  it('finds a key of a service account by the name of the file', async () => {
    const key = { private_key_id: hex(40), private_key: `-----BEGIN PRIVATE KEY-----\n${random(64)}` };
    const found = await scanForSecrets([{ name: 'keys/sa.json', content: JSON.stringify(key) }]);
    expect(found.map(({ line }) => line)).toEqual([1]);
  });

  it('reads no file of this machine, whatever a text is called', async () => {
    const texts = ['/etc/passwd.p12', '../../a.p12', 'a.p12'].map((name) => ({ name, content: 'fine' }));
    expect(await scanForSecrets(texts)).toEqual([]);
  });

  it('knows the same value again, in whatever line and file it stands', async () => {
    const token = `SK${hex(32)}`;
    const found = await scanForSecrets([
      { name: 'plan.md', content: `> ${token} is the key, use it` },
      { name: 'context.json', content: JSON.stringify({ request: `${token} is the key`, more: token }) },
      { name: 'two.txt', content: `${token} and GOCSPX-${random(28)}` },
    ]);
    const [first, second, two] = found.map(({ values }) => values);
    expect(first).toHaveLength(1);
    expect(second).toEqual(first);
    expect(two).toHaveLength(2);
    expect(two).toEqual(expect.arrayContaining([...(first ?? [])]));
  });

  it('leaves examples, placeholders and code that reads a secret alone', async () => {
    const texts = [
      [
        '.env.example',
        'DB_PASSWORD=changeme\nAPI_KEY=<your key>\nTOKEN=${TOKEN}\nJWT_SECRET=\nSESSION_SECRET=replace-me-please\n',
      ],
      ['src/a.js', 'const password = process.env.DB_PASSWORD;\nconst token = await getToken();\n'],
      ['app.yaml', 'passwordFile: /run/secrets/password\ntoken: null\nsecretName: db-credentials\n'],
      [
        'src/login.ts',
        "const PASSWORD_RULE = 'atLeast12Characters';\nlabels.password = 'Password2-Confirm';\nsecretName: 'my-app/Prod'\n",
      ],
      ['test/login.test.ts', "login({ password: 'Correct4Horse!Battery' });\n"],
      ['.npmrc', '//npm.acme.io/:_authToken=${NPM_TOKEN}\n'],
      ['.netrc', 'machine a login me password <token>\n'],
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
  });
});
