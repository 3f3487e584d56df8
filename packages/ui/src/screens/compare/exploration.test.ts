/** Runs that try different ways, side by side. */
import { aRun, evidenceOf } from '@autonomous/shared/a-run.fixture';
import { createElement } from 'react';
import { expect, it } from 'vitest';
import { shownIn } from '../../hosts/shown.fixture.ts';
import { CompareEvidence } from './compare-evidence.tsx';
import { Compared } from './exploration.tsx';

it('says of checks in a record that this server did not run them', () => {
  const evidence = [evidenceOf(), evidenceOf({ mode: 'base_tests' })];
  const checked = aRun({ id: 'checked', evidence });
  const rebuilt = aRun({ id: 'rebuilt', evidence: evidence.map((each) => ({ ...each, rebuiltAt: '2030-01-01' })) });
  const runs = [checked, rebuilt];
  const figures = shownIn({ runs }, createElement(Compared, { runs }));
  expect(figures).toContain('>2 of 2 passed<');
  expect(figures).toContain('>not run by this server (2 of 2 passed by the record)<');
  const sideBySide = shownIn({ runs }, createElement(CompareEvidence, { runs }));
  expect(sideBySide.match(/"added">passed</g)).toHaveLength(2);
  expect(sideBySide.match(/"removed">not run by this server \(passed by the record\)</g)).toHaveLength(2);
});
