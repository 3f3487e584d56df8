import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { findDiagrams } from '../../../artifacts/diagram-fences.ts';
import {
  nextSpecNumber,
  type PlanDocument,
  renderPlanDocument,
  renumberedSpecPath,
  specPath,
} from './plan-document.ts';
import { hashOf } from '../../../artifacts/content-hash.ts';
import { slugOf } from '../../../artifacts/slug.ts';

const document: PlanDocument = {
  title: 'Login flow',
  runId: 'abc123-def456',
  request: 'Create login flow with OAuth',
  createdAt: '2026-02-21T10:00:00Z',
  models: ['deepseek:deepseek-reasoner'],
  plan: '# Login flow\n\n```mermaid\nflowchart TD\n  A --> B\n```\n',
};

describe('a plan document', () => {
  it('says where it comes from, then gives the plan as it was written', () => {
    expect(renderPlanDocument(document)).toBe(
      '---\ntitle: Login flow\nrun: abc123-def456\nrequest: Create login flow with OAuth\ncreatedAt: 2026-02-21T10:00:00Z\nmodels:\n  - deepseek:deepseek-reasoner\n---\n\n# Login flow\n\n```mermaid\nflowchart TD\n  A --> B\n```\n',
    );
  });

  it('keeps any request within the front matter', () => {
    for (const request of [
      'a\n---\nrun: other',
      ': [ {',
      '"',
      '- x',
      `${'long '.repeat(100)}`,
      '#x',
      '\u0000',
      'run: |\n  x',
    ]) {
      const text = renderPlanDocument({ ...document, request, title: `${request}\n` });
      const frontMatter = text.slice(4, text.indexOf('\n---\n', 4));
      expect(parse(frontMatter)).toMatchObject({ run: 'abc123-def456', request });
    }
  });

  it('puts a fence around a bare diagram', () => {
    const text = renderPlanDocument({ ...document, plan: 'flowchart TD\n  A --> B' });
    expect(text).toContain('\n```mermaid\nflowchart TD\n  A --> B\n```\n');
    expect(findDiagrams(text)).toMatchObject({ ok: true, diagrams: [{ text: 'flowchart TD\n  A --> B' }] });
  });
});

it('gives a plan another number only where its own is taken', () => {
  const path = '.autonomous/specs/002-login.md';
  expect(renumberedSpecPath(path, ['.autonomous/specs/001-start.md', 'src/002-login.md'])).toBe(path);
  expect(renumberedSpecPath(path, ['.autonomous/specs/002-logout.md', '.autonomous/specs/007-menu.md'])).toBe(
    '.autonomous/specs/008-login.md',
  );
  expect(renumberedSpecPath(path, [path])).toBe('.autonomous/specs/003-login.md');
});

it('numbers plans after the highest that is taken', () => {
  expect(nextSpecNumber([])).toBe(1);
  expect(
    nextSpecNumber(['.autonomous/specs/001-a.md', '.autonomous/specs/012-b.md', '.autonomous/specs/007-c.md']),
  ).toBe(13);
  expect(nextSpecNumber(['.autonomous/specs/1000-a.md'])).toBe(1001);
  expect(
    nextSpecNumber([
      'specs/009-a.md',
      '.autonomous/specs/old/008-a.md',
      '.autonomous/specs/notes.md',
      '.autonomous/specs/004-x.txt',
    ]),
  ).toBe(1);
  expect(specPath(3, 'Dashboard v2')).toBe('.autonomous/specs/003-dashboard-v2.md');
});

describe('a slug', () => {
  it.each([
    ['Create login flow with OAuth', 'create-login-flow-with-oauth'],
    ['Über straße, naïve café & Łódź', 'uber-strasse-naive-cafe-lodz'],
    ["Don't repeat the user's work", 'dont-repeat-the-users-work'],
    ['../../etc/passwd', 'etc-passwd'],
    ['--force', 'force'],
    ['ログイン画面', 'untitled'],
    ['', 'untitled'],
    ['!!!', 'untitled'],
    ['one two three four five six seven eight nine ten', 'one-two-three-four-five-six-seven-eight'],
    ['a'.repeat(100), 'a'.repeat(40)],
    [`${'a'.repeat(40)} b`, 'a'.repeat(40)],
  ])('of %j is %s', (title, slug) => {
    expect(slugOf(title)).toBe(slug);
  });

  it('is a valid part of a file and branch name for any title', () => {
    for (let code = 0; code < 0x3000; code += 7) {
      const slug = slugOf(`${String.fromCodePoint(code).repeat(3)} x.lock ${String.fromCodePoint(code)}`);
      expect(slug).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
      expect(slug.length).toBeLessThanOrEqual(40);
    }
  });
});

it('hashes the UTF-8 text', () => {
  expect(hashOf('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  expect(hashOf('é')).not.toBe(hashOf('e\u0301'));
});
