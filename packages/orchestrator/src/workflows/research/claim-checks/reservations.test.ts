/** Claims that leave out the reservation of their passages. */
import { expect, it } from 'vitest';
import { overstatedIn } from './reservations.ts';

it.each([
  ['Coffee causes insomnia.', 'Coffee may cause insomnia in some people.', 'may cause'],
  ['The bridge will collapse.', 'The bridge might collapse.', 'might collapse'],
  ['Melatonin cures jet lag.', 'Some believe that melatonin cures jet lag.', 'Some believe that melatonin cures'],
  ['The drug reduces mortality.', 'It is unclear whether the drug reduces mortality.', 'whether the drug'],
  ['The drug reduces risk.', 'The drug failed to reduce the risk.', 'failed to reduce'],
  ['The drug reduces risk.', 'There is no evidence that the drug reduces the risk.', 'no evidence that the drug'],
  ['Melatonin works.', 'Melatonin has never been shown to work.', 'never been shown to work'],
  ['It was built of steel.', 'It was built of stone rather than steel.', 'rather than steel'],
  ['Melatonin works.', 'It is not true that melatonin works.', 'not true that melatonin works'],
  ['Melatonin works.', 'It is untrue that melatonin works.', 'untrue that melatonin works'],
  ['Melatonin works.', 'Critics falsely claim that melatonin works.', 'falsely claim that melatonin works'],
  ['Melatonin works.', 'Retracted: melatonin works in adults.', 'Retracted melatonin works'],
  ['The bridge is unsafe.', 'Claims that the bridge is unsafe are baseless.', 'bridge is unsafe are baseless'],
])('are found: %j by %j', (claim, passage, reserved) => {
  expect(overstatedIn(claim, [passage])?.passages).toBe(reserved);
});

it.each([
  ['Coffee may cause insomnia.', 'Coffee might cause insomnia.'],
  ['Rust 1.0 was released in May 2015.', 'The release of Rust 1.0 in May 2015 was a turning point.'],
  ['Blue light suppresses melatonin.', 'Blue light suppresses melatonin. Patients may therefore use filters.'],
  ['Coffee causes insomnia.', 'Coffee causes insomnia, and may cause headache.'],
  ['Nothing indicates that the tower is unstable.', 'There is no evidence that the tower is unstable.'],
  ['It is disputed whether naps help.', 'It is disputed whether naps help.'],
  ['It is built of stone instead of steel.', 'It is built of stone instead of steel.'],
  ['The trial failed to reach its endpoint.', 'The trial failed to reach its endpoint.'],
])('are no fault of a claim that keeps it: %j by %j', (claim, passage) => {
  expect(overstatedIn(claim, [passage])).toBeNull();
});

it.each(['whether it may work ', 'claim that it works is false '])('are looked for in linear time: %j', (words) => {
  const long = words.repeat(10_000);
  expect(overstatedIn('It works.', [long])).not.toBeNull();
});
