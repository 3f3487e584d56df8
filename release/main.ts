/**
 * Builds all that is released, checks it, and leaves it in a folder: the npm packages, the extension and `release.json`.
 * Without `--dry-run` it first turns waiting changesets into a version, and publishes the files in the end.
 *
 * Usage: npm run release -- [--dry-run] [--only server] --out FOLDER
 *   --only server  the server's package alone, for an image
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { buildRelease, buildServer } from './build.ts';
import { readGitFacts, readWorkspaceFacts } from './facts.ts';
import { countChangesets, findObstacles, isTagged, prepareVersion, publishCommands, run } from './publish.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
try {
  const { values } = parseArgs({
    options: { 'dry-run': { type: 'boolean' }, only: { type: 'string' }, out: { type: 'string' } },
  });
  if (values.out === undefined) throw new Error('The folder of the release is missing: add --out FOLDER.');
  const isServerAlone = values.only === 'server';
  if (values.only !== undefined && !(isServerAlone && values['dry-run'] === true))
    throw new Error(`--only is '${values.only}'. It takes 'server', together with --dry-run.`);
  const out = path.resolve(process.env['AUTONOMOUS_CWD'] ?? '.', values.out);
  if (isServerAlone) await buildServer(out, say);
  else await release(out, values['dry-run'] === true);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function release(out: string, isDryRun: boolean): Promise<void> {
  const { repository, version } = await readWorkspaceFacts();
  const waiting = await countChangesets();
  const obstacles = findObstacles(await readGitFacts(), repository, waiting, await isTagged(version), process.env);
  if (!isDryRun && obstacles.length > 0)
    throw new Error(
      `Nothing was released:\n  ${obstacles.join('\n  ')}\nTo build and check the files alone, add --dry-run.`,
    );
  if (!isDryRun) await prepareVersion(waiting);
  const built = await buildRelease(out, say);
  const commands = publishCommands(out, built);
  if (isDryRun) {
    say(`\n${waiting === 0 ? 'No changeset waits' : `${waiting} changesets wait`}. A release would run:`);
    for (const { command, args } of commands) say(`  ${command} ${args.join(' ')}`);
    if (obstacles.length > 0) say(`\nIt would be refused now:\n  ${obstacles.join('\n  ')}`);
    return;
  }
  for (const command of commands) say(await run(command));
  say(`Published ${built.version}. Push the commit and its tag: git tag v${built.version} && git push --follow-tags`);
}
