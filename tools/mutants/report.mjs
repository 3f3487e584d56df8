/**
 * Results of mutants in words: how many were found in each group, by which tests, and a diff of each that no test notices.
 * @param expected number of mutants that were to be made
 */
export function reportOf(results, expected) {
  const groups = Map.groupBy(results, ({ group }) => group);
  const survivors = results.filter(({ status }) => status === 'survived' || status === 'uncovered');
  const lines = [...groups].map(([group, own]) => lineOf(group, own));
  return [`${results.length} of ${expected} mutants.`, ...lines, ...survivors.flatMap(diffOf)].join('\n');
}

function lineOf(group, results) {
  const inStatus = Map.groupBy(results, ({ status }) => status);
  const count = (status) => inStatus.get(status)?.length ?? 0;
  const found = results.filter(({ status }) => status === 'killed' || status === 'timeout');
  const quick = found.filter((result) => result.quick);
  return (
    `${group}: ${share(found.length, results.length - count('absent'))} found (${count('killed')} killed, ${count('timeout')} endless), ` +
    `${count('survived')} survived, ${count('uncovered')} reached by no test, ${count('crashed')} without an answer, ` +
    `${count('absent')} not in this tree. Quick tests find ${share(quick.length, found.length)} of those found.`
  );
}

function share(part, whole) {
  return whole === 0 ? '0 of 0' : `${part} of ${whole} (${((100 * part) / whole).toFixed(1)} %)`;
}

function diffOf({ id, file, line, what, status, block, column, old, text, reached, passed }) {
  const changed = block.slice(0, column) + text + block.slice(column + old.length);
  const signed = (sign, code) => code.split('\n').map((each) => `${sign} ${each}`);
  const tests = status === 'uncovered' ? 'no test reaches it' : `${passed} of ${reached} test files passed`;
  return ['', `${file}:${line} ${what}; ${tests} (${id})`, ...signed('-', block), ...signed('+', changed)];
}
