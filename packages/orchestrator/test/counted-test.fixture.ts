/** A check of a project whose tests no runner of the server's list runs. */

/** A shell script that runs one test and reports it, as a runner of a project's own can: see `docs/evidence-reference.md`. */
export function countedTest(command: string, name = 'app'): string {
  const tell = (entry: object) =>
    `echo '${JSON.stringify({ run: name, runner: 'sh', ...entry })}' >> "\${AUTONOMOUS_TEST_REPORT:-/dev/null}"`;
  return [
    tell({ event: 'start' }),
    `if ${command}; then code=0 outcome=passed; else code=1 outcome=failed; fi`,
    tell({ event: 'test', name, outcome: 'OUTCOME' }).replace('OUTCOME', `'"$outcome"'`),
    tell({ event: 'end' }),
    'exit $code',
    '',
  ].join('\n');
}
