/** Tests which parts of long output are kept, and that no character is split. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CappedOutput } from './capped-output.ts';

it('gives short output as it was', () => {
  const output = new CappedOutput(10);
  output.push(Buffer.from('héllo'));
  output.push(Buffer.from(' wo'));
  expect(output.text()).toBe('héllo wo');
});

it('keeps both ends of long output and says how much is missing between them', () => {
  const output = new CappedOutput(6);
  output.push(Buffer.from('abcdefghij'));
  expect(output.text()).toBe('abc\n[… 4 bytes dropped …]\nhij');
});

it('keeps a byte order mark', () => {
  const output = new CappedOutput(10);
  output.push(Buffer.from('\ufeffx'));
  expect(output.text()).toBe('\ufeffx');
});

it('tears no character and counts every byte, however the stream is cut', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\n'), maxLength: 200 });
  fc.assert(
    fc.property(
      text,
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 8, max: 64 }),
      (whole, cuts, max) => {
        const bytes = Buffer.from(whole);
        const output = new CappedOutput(max);
        for (let at = 0, n = 0; at < bytes.length; n += 1) {
          const length = cuts[n % cuts.length] ?? 1;
          output.push(bytes.subarray(at, at + length));
          at += length;
        }
        const kept = output.text();
        expect(output.totalBytes).toBe(bytes.length);
        if (bytes.length <= max) {
          expect(kept).toBe(whole);
          return;
        }
        const [, first = '', dropped = '', last = ''] = /^(.*)\n\[… (\d+) bytes dropped …\]\n(.*)$/s.exec(kept) ?? [];
        expect(kept).not.toContain('\ufffd');
        expect(whole.startsWith(first) && whole.endsWith(last)).toBe(true);
        expect(Buffer.byteLength(first) + Buffer.byteLength(last) + Number(dropped)).toBe(bytes.length);
        expect(Buffer.byteLength(first) + Buffer.byteLength(last)).toBeLessThanOrEqual(max);
      },
    ),
  );
});
