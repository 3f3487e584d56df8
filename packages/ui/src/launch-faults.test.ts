import { ApiError } from '@autonomous/shared/client';
import { expect, it } from 'vitest';
import { faultAt, faultsElsewhere, faultsOf } from './launch-faults.ts';

const refusal = (...paths: string[]): ApiError =>
  new ApiError({
    type: '',
    title: '',
    status: 400,
    detail: 'no',
    code: 'invalid_request',
    faults: paths.map((path) => ({ path, message: `${path} is wrong` })),
  });

it('shows the faults of a refusal beside the fields that have them, and the others apart', () => {
  const faults = faultsOf(
    refusal('input.customer', 'input.lines.0.text', 'config.modelRouting.reader', 'config.git.createPR'),
  );
  expect(faultAt(faults, 'input.customer')).toBe('input.customer is wrong');
  expect(faultAt(faults, 'input.lines')).toBe('0.text: input.lines.0.text is wrong');
  expect(faultAt(faults, 'input')).toContain('customer');
  expect(faultAt(faults, 'input.cust')).toBeNull();
  const fields = ['input.customer', 'input.lines', 'config.modelRouting.reader'];
  expect(faultsElsewhere(faults, fields).map(({ path }) => path)).toEqual(['config.git.createPR']);
});

it('shows a fault that several approaches have once', () => {
  const faults = faultsOf(refusal('variants.0.config.maxCostUsd'));
  expect(faults.map(({ path }) => path)).toEqual(['config.maxCostUsd']);
  expect(faultsOf(new Error('away'))).toEqual([]);
});
