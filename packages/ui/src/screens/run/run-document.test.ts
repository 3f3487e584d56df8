import { aWaitingRun, aWorkflow } from '@autonomous/shared/a-run.fixture';
import { createElement } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DrawnDiagram } from '../../components/diagram/diagram.tsx';
import { shownIn } from '../../hosts/shown.fixture.ts';
import { RunDocument } from './run-document.tsx';

const info = { title: 'Plan', drawnAs: 'diagrams' } as const;
const workflow = aWorkflow({
  gates: { invalid_plan: { title: 'Plan', presents: 'document', document: 'plan', needs: { approve: 'editedPlan' } } },
  documents: { plan: info },
});

// There is no page here: as much of one as tells light from dark.
beforeEach(() => {
  vi.stubGlobal('document', { body: { classList: { contains: () => false } } });
  vi.stubGlobal('matchMedia', () => ({ matches: false }));
});
afterEach(() => vi.unstubAllGlobals());

it('shows each diagram of a draft that could not be used by itself, with the number that the gate names', () => {
  const diagrams = [...Array.from({ length: 11 }, () => 'flowchart TD\n  a --> b'), 'flowchart TD\n  this is ((( bad'];
  const draft = `# Twelve\n\n${diagrams.map((each) => `\`\`\`mermaid\n${each}\n\`\`\`\n`).join('\n')}`;
  const run = aWaitingRun('r', {}, { kind: 'invalid_plan', details: { draft } });
  const html = shownIn({ runs: [run], workflows: [workflow] }, createElement(RunDocument, { run, type: 'plan', info }));
  expect(html).toContain('<h1 dir="auto">Twelve</h1>');
  expect(html.match(/<figure class="diagram"/g)).toHaveLength(12);
  expect(html).toContain('aria-label="Plan, diagram 12"');
  expect(html).toContain('Correct it yourself');
});

it('shows the fault and the source of a diagram that cannot be drawn', () => {
  const source = 'flowchart TD\n  this is ((( bad';
  const failed = { state: 'failed', source, reason: 'line 2: found a node id', again: () => undefined } as const;
  const html = shownIn({}, createElement(DrawnDiagram, { drawing: failed, source, title: 'Plan, diagram 12' }));
  expect(html).toContain('This diagram cannot be drawn: line 2: found a node id.');
  expect(html).toContain('this is ((( bad</code>');
});
