import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findContentFaults } from './contents.ts';
import { ROOT } from './facts.ts';

const RULES = { top: ['dist', 'LICENSE'], registry: 'https://packages.example.com/npm/' };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'contents-'));
  await mkdir(path.join(folder, 'dist'));
  await writeFile(path.join(folder, 'dist', 'main.js'), 'export const a = 1;\n');
  await writeFile(path.join(folder, 'LICENSE'), 'MIT');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the contents of a package', () => {
  it('have no fault when they are compiled code, declarations and the skeleton of a workflow', async () => {
    await writeFile(path.join(folder, 'dist', 'main.d.ts'), 'export declare const a: number;\n');
    await mkdir(path.join(folder, 'skeleton'));
    await writeFile(path.join(folder, 'skeleton', 'workflow.ts'), 'export const a: number = 1;\n');
    expect(await findContentFaults(folder, { ...RULES, top: [...RULES.top, 'skeleton'] })).toEqual([]);
  });

  it.each([
    ['dist/main.ts', '', 'dist/main.ts is a source'],
    ['dist/main.js.map', '', 'dist/main.js.map is a source map'],
    ['dist/a.test.js', '', 'dist/a.test.js is of the tests'],
    ['dist/.npmrc', '', 'dist/.npmrc is of the workspace'],
    ['notes.md', '', 'notes.md does not belong into the package'],
    ['dist/a.js', '//# sourceMappingURL=a.js.map', 'dist/a.js names a source map'],
    ['dist/a.js', `"${ROOT}/packages"`, `dist/a.js holds a name of this machine: ${ROOT}/`],
    ['dist/a.js', '"https://packages.example.com"', 'dist/a.js holds a name of this machine: packages.example.com'],
    ['dist/a.js', `\n"ghp_${'a1B2'.repeat(9)}"`, 'dist/a.js holds a secret (GitHub token, line 2)'],
  ])('may not be %s with %j', async (file, text, fault) => {
    await writeFile(path.join(folder, file), text);
    expect(await findContentFaults(folder, RULES)).toEqual([fault]);
  });

  it('may compare with the first line of a private key, and not hold one', async () => {
    const first = `-----BEGIN RSA ${'PRIVATE'} KEY-----`;
    await writeFile(
      path.join(folder, 'dist', 'a.js'),
      `if (key.includes("${first}")) throw new Error('${first} is not enough');\n`,
    );
    expect(await findContentFaults(folder, RULES)).toEqual([]);
    for (const key of [`\`${first}\nMIIE\``, `["${first}", "${'MIIEpAIBAAKCAQEA'.repeat(4)}"]`]) {
      await writeFile(path.join(folder, 'dist', 'a.js'), `const key = ${key};\n`);
      expect(await findContentFaults(folder, RULES)).toEqual([expect.stringMatching(/^dist\/a\.js holds a secret/)]);
    }
  });

  it('may not lack a part or hold a link', async () => {
    await rm(path.join(folder, 'LICENSE'));
    await symlink('/etc/passwd', path.join(folder, 'dist', 'link'));
    expect(await findContentFaults(folder, RULES)).toEqual(['LICENSE is missing', 'dist/link is no plain file']);
  });
});
