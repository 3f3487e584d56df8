import { expect, it } from 'vitest';
import { focusOpened } from './focus-target.ts';

/** There is no document here: as much of a widget as takes the focus. `plan-review` opens real ones by key. */
function aField({ isConnected = true } = {}) {
  const { promise: updateComplete, resolve: draw } = Promise.withResolvers<void>();
  const seen: string[] = [];
  const field = { isConnected, updateComplete, focus: () => seen.push('focus') };
  return { field: field as unknown as HTMLElement, draw, drawn: updateComplete, seen };
}

it('focuses a field that a button has opened once it has drawn itself', async () => {
  const { field, draw, drawn, seen } = aField();
  focusOpened(field);
  await Promise.resolve().then(() => undefined);
  expect(seen).toEqual([]);
  draw();
  await drawn.then(() => undefined);
  // The key that has opened it is not typed into it.
  expect(seen).toEqual([]);
  await new Promise((resolve) => void setTimeout(resolve));
  expect(seen).toEqual(['focus']);
});

it('leaves the focus where it is when the field was closed before it has drawn itself', async () => {
  const { field, draw, drawn, seen } = aField({ isConnected: false });
  focusOpened(field);
  focusOpened(null);
  draw();
  await drawn.then(() => undefined);
  await new Promise((resolve) => void setTimeout(resolve));
  expect(seen).toEqual([]);
});
