import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { findDiagrams } from '../../../documents/plans/diagram-fences.ts';
import { type PlanDocument, renderPlanDocument } from './plan-document.ts';

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
