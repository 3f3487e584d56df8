import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createMermaidParser, type ParsedPlan } from './mermaid.ts';

const parser = createMermaidParser();
afterAll(() => parser.close());

const fence = (text: string): string => `# Plan\n\nWhat we build.\n\n\`\`\`mermaid\n${text}\n\`\`\`\n`;

async function parsed(markdown: string): Promise<Extract<ParsedPlan, { ok: true }>> {
  const plan = await parser.parse(markdown);
  if (!plan.ok) throw new Error(plan.message);
  return plan;
}

async function refused(markdown: string): Promise<Extract<ParsedPlan, { ok: false }>> {
  const plan = await parser.parse(markdown);
  if (plan.ok) throw new Error(`parsed as ${plan.diagrams.map((diagram) => diagram.type).join(', ')}`);
  return plan;
}

describe('a plan that parses', () => {
  it('gives exactly what the login flow demands', async () => {
    const plan = await parsed(
      fence(
        'flowchart TD\n  A[Login Page] --> B{Authenticated?}\n  B -->|Yes| C[Dashboard]\n  B -->|No| D[Error Page]',
      ),
    );
    expect(plan.constraints).toEqual({
      requiredRoutes: ['Login Page', 'Dashboard', 'Error Page'],
      requiredComponents: ['AuthenticationCheck'],
      dataEntities: [],
      validationRules: [
        { type: 'route_exists', route: 'Login Page' },
        { type: 'conditional_branch', from: 'Authenticated?', to: ['Dashboard', 'Error Page'] },
      ],
    });
    expect(plan.diagrams[0]).toMatchObject({ type: 'flowchart', firstLine: 6 });
    expect(plan.diagrams[0]?.edges).toContainEqual({ from: 'B', to: 'C', label: 'Yes' });
  });

  it('takes a bare diagram without a fence, with front matter and comments before it', async () => {
    expect((await parsed('flowchart TD\nA[Home] --> B[About]')).constraints.requiredRoutes).toEqual(['Home', 'About']);
    const titled = await parsed('---\ntitle: x\n---\n%% a comment\ngraph LR\n A[Home]');
    expect(titled.constraints.requiredRoutes).toEqual(['Home']);
  });

  it('reads routes, components and entities out of each type of diagram that holds them', async () => {
    const texts = [
      'flowchart TD\n  subgraph Site\n    A["Sign in<br/>page"] --> B@{ shape: decision, label: "#quot;Ok#quot;?" }\n  end\n  Site --> C',
      'classDiagram\n  class AuthService["Auth Service"]\n  AuthService --> `Token Store`',
      'C4Container\n  Person(p, "Customer")\n  System_Ext(m, "Mail")\n  System_Boundary(b, "Shop") {\n    Container(w, "Web App", "TypeScript")\n  }\n  Rel(p, w, "Uses")',
      'architecture-beta\n  group api(cloud)[API]\n  service db(database)[Database] in api\n  service srv(server)[Server] in api\n  db:L -- R:srv',
      'erDiagram\n  CUSTOMER ||--o{ ORDER : places\n  p[Person] {\n    string name\n  }',
      'sequenceDiagram\n  participant U as User\n  U->>Web: POST /login',
      'stateDiagram-v2\n  [*] --> Idle\n  state Idle {\n    a --> b: go\n  }',
      'requirementDiagram\n  requirement fast {\n    id: 1\n    text: fast.\n    risk: high\n    verifymethod: test\n  }\n  element web {\n    type: simulation\n  }\n  web - satisfies -> fast',
      'mindmap\n  root\n    leaf',
    ];
    const plan = await parsed(texts.map(fence).join('\n'));
    expect(plan.diagrams.map((diagram) => diagram.type)).toEqual([
      'flowchart',
      'class',
      'c4',
      'architecture',
      'er',
      'sequence',
      'state',
      'requirement',
      'other',
    ]);
    expect(plan.constraints.requiredRoutes).toEqual(['Sign in page', 'C']);
    expect(plan.constraints.requiredComponents).toEqual([
      'OkCheck',
      'Auth Service',
      'Token Store',
      'Web App',
      'Database',
      'Server',
    ]);
    expect(plan.constraints.dataEntities).toEqual(['CUSTOMER', 'ORDER', 'Person']);
    const edges = Object.fromEntries(plan.diagrams.map((diagram) => [diagram.type, diagram.edges]));
    expect(edges['class']).toEqual([{ from: 'AuthService', to: 'Token Store', label: '' }]);
    expect(edges['sequence']).toEqual([{ from: 'U', to: 'Web', label: 'POST /login' }]);
    expect(edges['state']).toContainEqual({ from: 'a', to: 'b', label: 'go' });
    expect(edges['er']).toHaveLength(1);
    expect(edges['architecture']).toEqual([{ from: 'db', to: 'srv', label: '' }]);
    expect(edges['requirement']).toEqual([{ from: 'web', to: 'fast', label: 'satisfies' }]);
  });

  it('keeps the diagrams of two plans apart when both are parsed at once', async () => {
    const c4 = (name: string): string => fence(`C4Context\n  System(a, "${name}")`);
    const plans = await Promise.all(['One', 'Two', 'Three'].map((name) => parsed(c4(name))));
    expect(plans.map((plan) => plan.constraints.requiredComponents)).toEqual([['One'], ['Two'], ['Three']]);
  });
});

describe('a plan that does not parse', () => {
  it('says so where there is no diagram, whatever the text is', async () => {
    for (const text of [
      '',
      '{"half": ',
      ' '.repeat(1_000_000),
      '<!doctype html><h1>502</h1>',
      '```\nCLARIFY: which?\n```',
      '# Only words',
    ]) {
      expect(await refused(text)).toMatchObject({
        line: null,
        diagram: null,
        message: expect.stringContaining('```mermaid'),
      });
    }
  });

  it('names the diagram, the line, what was found and how it is mended', async () => {
    const good = fence('flowchart TD\n  A --> B');
    const plan = await refused(`${good}${fence('flowchart TD\n  A --> B\n  B[Sign in (OAuth)] --> C')}`);
    expect(plan).toMatchObject({ diagram: 2, line: 16 });
    expect(plan.message).toContain('Diagram 2 (line 3 of the diagram, line 16 of the plan): found "(" where "]"');
    expect(plan.message).toContain('in the line `B[Sign in (OAuth)] --> C`');
    expect(plan.message).toContain('in double quotes');
  });

  it('counts the lines that front matter, comments and directives take', async () => {
    const header = '---\ntitle: x\n---\n%%{init: {"theme":\n "dark"}}%%\nflowchart TD\n  A-->B\n\n  %% note\n\n';
    expect(await refused(fence(`${header}  C[x --> D`))).toMatchObject({ line: 16 });
    expect(await refused(fence(`%% note\n\npie\n  "a" : x`))).toMatchObject({
      line: 9,
      message: expect.stringContaining('Lexer error on line 4'),
    });
  });

  it.each([
    ['flowchart TD\n  A[Login --> B', 'never closed'],
    ['erDiagram\n  A ||--o B : x', 'line 2 of the diagram'],
    ['sequenceDiagram\n  A->>B', '": text"'],
    ['classDiagram\n  class A {\n    +x', 'the end of the diagram'],
    ['architecture-beta\n  service x(db)[X', 'line 2 of the diagram'],
    ['not a diagram', '"not a diagram" names no diagram type'],
    ['', 'it is empty'],
  ])('words the fault of %j', async (text, words) => {
    expect((await refused(fence(text))).message).toContain(words);
  });

  it('says that a fence was never closed, or is hidden in another one', async () => {
    expect(await refused('x\n```mermaid\nflowchart TD\n A-->B')).toMatchObject({ line: 2, diagram: 1 });
    expect(await refused('```markdown\n# Plan\n```mermaid\nflowchart TD\n```\n')).toMatchObject({
      line: 3,
      diagram: null,
    });
  });
});

describe('hostile diagrams', () => {
  it('takes ids that are names of the prototype as names and nothing more', async () => {
    const plan = await parsed(
      fence(
        'flowchart TD\n  __proto__[evil] --> constructor[x]\n  constructor --> toString{hasOwnProperty}\n  toString --> __proto__',
      ),
    );
    expect(plan.constraints.requiredRoutes).toEqual(['evil', 'x']);
    expect(plan.constraints.validationRules).toContainEqual({
      type: 'conditional_branch',
      from: 'hasOwnProperty',
      to: ['evil'],
    });
    const others = await parsed(
      `${fence('classDiagram\n  class __proto__ {\n    +polluted yes\n  }\n  class constructor')}${fence('erDiagram\n  __proto__ ||--o{ constructor : x')}`,
    );
    expect(others.constraints.dataEntities).toEqual(['__proto__', 'constructor']);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it('does not let a directive or front matter raise a limit for itself or for the next plan', async () => {
    const edges = Array.from({ length: 2_500 }, (_, index) => `a${index}-->b`).join('\n');
    const directive = '%%{init: {"maxEdges": 999999, "securityLevel": "loose", "__proto__": {"polluted": 1}}}%%\n';
    const frontMatter = '---\nconfig:\n  maxEdges: 999999\n---\n';
    for (const header of [directive, frontMatter, '']) {
      expect((await refused(fence(`${header}flowchart TD\n${edges}`))).message).toContain('Edge limit exceeded');
    }
  });

  it('gives labels as plain text without tags', async () => {
    const plan = await parsed(
      fence('flowchart TD\n  A["<img src=x onerror=alert(1)>Home"] -->|"<script>x</script>"| B["a < b"]'),
    );
    expect(plan.constraints.requiredRoutes).toEqual(['Home', 'a < b']);
  });

  it('refuses more than 50,000 bytes before any parser sees them', async () => {
    expect((await refused(fence(`flowchart TD\n  A["${'é'.repeat(25_000)}"]`))).message).toContain('at most 50000');
    expect(await refused(fence(`classDiagram\n  class A["${'<br'.repeat(50_000)}"]`))).toMatchObject({ diagram: null });
  });

  it(
    'ends within the time limit whatever a diagram below the size limit does, and parses the next plan',
    { timeout: 240_000 },
    async () => {
      const nested = (open: (index: number) => string, close: string, depth: number): string =>
        `${Array.from({ length: depth }, (_, index) => open(index)).join('\n')}\nA --> B\n${`${close}\n`.repeat(depth)}`;
      const texts = [
        `flowchart TD\n${nested((index) => `subgraph s${index}`, 'end', 2_600)}`,
        `stateDiagram-v2\n${nested((index) => `state s${index} {`, '}', 2_400)}`,
        `classDiagram\n  class A["${'<br'.repeat(16_000)}"]`,
        `flowchart TD\n  A["${'<'.repeat(49_000)}"]`,
        `${'%%{'.repeat(16_000)}\nflowchart TD\n  A`,
        `%%{init:${'{'.repeat(49_000)}\nflowchart TD\n  A`,
        `flowchart TD${' '.repeat(49_000)}x`,
        `flowchart TD\n  ${Array.from({ length: 400 }, (_, index) => `a${index}`).join(' & ')} --> ${Array.from({ length: 400 }, (_, index) => `b${index}`).join(' & ')}`,
        '---\na: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\nconfig:\n  themeVariables: *e\n---\nflowchart TD\n  A',
      ];
      const hasty = createMermaidParser(undefined, 300);
      onTestFinished(() => hasty.close());
      let stopped = 0;
      for (const text of texts) {
        const started = performance.now();
        const plan = await hasty.parse(fence(text));
        // The rest is the start of a worker in place of one that was ended.
        expect(performance.now() - started).toBeLessThan(60_000);
        if (!plan.ok && plan.message.includes('took longer')) stopped++;
      }
      // Without a stopped one this would not have shown that a worker is replaced.
      expect(stopped).toBeGreaterThan(0);
      expect((await hasty.parse(fence('flowchart TD\n  A[Home]'))).ok).toBe(true);
    },
  );
});

describe('a parser that was told that a plan will come', () => {
  it('starts its worker at once, and no second one for the plan', async () => {
    let workers = 0;
    const count = (): void => void workers++;
    process.on('worker', count);
    const other = createMermaidParser();
    const started = once(process, 'worker');
    other.warmUp();
    other.warmUp();
    await started;
    expect(await other.parse(fence('flowchart TD\n  A[Home]'))).toMatchObject({ ok: true });
    expect(workers).toBe(1);
    process.off('worker', count);
    await other.close();
  });

  it('ends its worker when no plan comes for a while, and starts another for the next one', async () => {
    const other = createMermaidParser(50);
    try {
      const started = once(process, 'worker') as Promise<[Worker]>;
      const plan = fence('flowchart TD\n  A --> B');
      expect(await other.parse(plan)).toMatchObject({ ok: true });
      const [worker] = await started;
      await once(worker, 'exit');
      expect(await other.parse(plan)).toMatchObject({ ok: true });
    } finally {
      await other.close();
    }
  });

  it('can be closed while its worker starts', async () => {
    const other = createMermaidParser();
    other.warmUp();
    await other.close();
    await expect(other.parse(fence('flowchart TD\n  A'))).rejects.toThrow('closed');
  });
});

describe('closing', () => {
  it('ends the worker, fails what comes later, and may be done twice', async () => {
    const other = createMermaidParser();
    await other.parse(fence('flowchart TD\n  A'));
    await other.close();
    await other.close();
    await expect(other.parse(fence('flowchart TD\n  A'))).rejects.toThrow('closed');
  });
});
