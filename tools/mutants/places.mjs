/** Draws mutants from the sources of this tree, and places them by their text in this tree or another one, where lines and files moved. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { mutantsOf } from './operators.mjs';

const SRC = 'packages/orchestrator/src';

/** Groups of sources by the names of their files or folders, with the number of mutants drawn. A source is in the first one that fits. */
export const GROUPS = {
  decisions: {
    count: 400,
    sources: {
      'the pure step from one event to the next': 'core/**/*',
      evidence:
        '**/{check,checks,checked-trees,base-tests,baseline,baseline-cache,compared-with-base,earlier-tests,rewritten-tests,' +
        'test-reporting,test-report,failing-before,own-changes,reviewed-diff,evidence,whole-check,validating,check-reach,check-commands}',
      concerns:
        '**/{concerns,find-concerns,test-concerns,concern-digests,memory-concern,judge-names,assertions,used-by-tests,' +
        'in-source-tests,allowed-files,self-running*}',
      'the guard before every handler': 'server/access/guard',
      'decisions of people':
        '{server/decisions/{gate-decisions,decision-signal},engine/**/{shown-gate,signal-admission,run-admission}}',
    },
  },
  engine: {
    count: 100,
    sources: { 'engine, event store, repository': '{engine,record,upkeep,event-store,repository}/**/*' },
  },
};

/**
 * @param count at most this many; a line is drawn once
 * @returns mutants in the order of the draw, which the same seed repeats: a change of one source moves nothing in the others
 */
export function drawMutants(tree, group, seed, count = GROUPS[group].count) {
  const byLine = new Map();
  for (const file of sourcesOf(tree, group)) {
    const source = readFileSync(path.join(tree, file), 'utf8');
    for (const change of mutantsOf(file, source)) {
      const mutant = withBlock(source, change);
      const { above, block, nth, column, old, text } = mutant;
      const identity = JSON.stringify([seed, path.basename(file), above, block, nth, column, old, text]);
      const id = createHash('sha256').update(identity).digest('hex').slice(0, 12);
      const line = `${file}:${mutant.line}`;
      if (!(byLine.get(line)?.id < id)) byLine.set(line, { id, group, file, ...mutant });
    }
  }
  return [...byLine.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, count);
}

function sourcesOf(tree, group) {
  const files = new Map();
  for (const name of Object.keys(GROUPS).toReversed()) {
    for (const [subject, pattern] of Object.entries(GROUPS[name].sources)) {
      const found = globSync(`${SRC}/${pattern}.ts`, { cwd: tree });
      if (found.length === 0) throw new Error(`No source is '${pattern}' (${subject}): correct GROUPS in places.mjs.`);
      for (const file of found) files.set(file, name);
    }
  }
  return [...files].flatMap(([file, name]) =>
    name === group && !/\.(test|fixture|contract)\.ts$/.test(file) ? file : [],
  );
}

/** The change with the whole lines that it touches, the line above them, and the number of same places before it. */
function withBlock(source, { offset, old, text, what }) {
  const start = source.lastIndexOf('\n', offset - 1) + 1;
  const end = source.indexOf('\n', offset + old.length);
  const block = source.slice(start, end === -1 ? undefined : end);
  const above = lineBefore(source, start);
  const nth = placesOf(source, block).filter((place) => place < start && lineBefore(source, place) === above).length;
  return {
    line: source.slice(0, offset).split('\n').length,
    what,
    old,
    text,
    block,
    above,
    nth,
    column: offset - start,
  };
}

/**
 * @param files paths of the tree
 * @param read gives the text of one of them
 * @returns the file, its text, and its text with the mutant; `null` when the tree lacks these lines or has several like them
 */
export function placeMutant({ file, block, above, nth, column, old, text }, files, read) {
  const namesakes = files.filter((other) => path.basename(other) === path.basename(file));
  const candidates = files.includes(file) ? [file] : namesakes;
  const places = candidates.flatMap((name) => placesOf(read(name), block).map((start) => ({ name, start })));
  const same = places.filter(({ name, start }) => lineBefore(read(name), start) === above);
  const place = same[nth] ?? (places.length === 1 ? places[0] : undefined);
  if (place === undefined) return null;
  const source = read(place.name);
  const offset = place.start + column;
  return { file: place.name, source, mutated: source.slice(0, offset) + text + source.slice(offset + old.length) };
}

/** Offsets at which these whole lines begin. */
function placesOf(source, block) {
  const [lines, wanted] = [`\n${source}\n`, `\n${block}\n`];
  const places = [];
  for (let at = lines.indexOf(wanted); at !== -1; at = lines.indexOf(wanted, at + 1)) places.push(at);
  return places;
}

function lineBefore(source, start) {
  return source.slice(0, start).split('\n').at(-2) ?? '';
}
