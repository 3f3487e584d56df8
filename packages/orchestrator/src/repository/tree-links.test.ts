import { describe, expect, it } from 'vitest';
import { linkFaults } from './tree-links.ts';

async function faults(links: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries(await linkFaults(new Map(Object.entries(links))));
}

describe('C02 C03: links of a tree', () => {
  it('may lead to files, folders and names that do not exist, within the tree', async () => {
    expect(
      await faults({
        a: 'b',
        'src/up': '../docs/a.md',
        'src/here': '.',
        'src/root': '..',
        'src/slash': './x//y/',
        'bin/tool': '../node_modules/tool/cli.js',
        'x/y/z': '../../x/../top',
        dots: '..x/...',
      }),
    ).toEqual({});
  });

  it.each([
    ['/etc/passwd', 'its target is an absolute path'],
    ['../../etc/passwd', 'it leads out of the project'],
    ['../..', 'it leads out of the project'],
    ['x/../../../y', 'it leads out of the project'],
    ['../.git/config', "it leads to git's own files"],
    ['../.GIT', "it leads to git's own files"],
    ['', 'its target is not a valid path'],
    ['a\uFFFD', 'its target is not a valid path'],
    ['..\0/..', 'its target is not a valid path'],
    ['x'.repeat(4_097), 'its target is longer than 4096 bytes'],
  ])('are not made where the target is %j', async (target, why) => {
    expect(await faults({ 'src/link': target })).toEqual({ 'src/link': why });
  });

  it('are judged by where other links lead them', async () => {
    expect(
      await faults({
        'deep/a': 'b/c',
        in: 'deep/a/..',
        out: 'up/..',
        up: 'deep/root',
        'deep/root': '..',
        chain: 'in/../../../x',
        direct: '/etc',
        through: 'direct/passwd',
      }),
    ).toEqual({
      out: 'it leads out of the project',
      chain: 'it leads out of the project',
      direct: 'its target is an absolute path',
      through: 'its target is an absolute path',
    });
  });

  it('are not made where they lead back to themselves or lie behind another link', async () => {
    const round = 'it leads back to itself';
    expect(await faults({ a: 'b', b: 'a', self: 'self', 'more/x': 'y', more: 'src' })).toEqual({
      a: round,
      b: round,
      self: round,
      'more/x': 'it lies behind another symlink',
    });
  });

  it('are looked through in bounded time where they lead through each other', async () => {
    const links: Record<string, string> = {};
    for (let index = 0; index < 10_000; index += 1)
      links[`l${index}`] = `${'x/../'.repeat(700)}l${(index + 1) % 10_000}`;
    const from = process.cpuUsage();
    expect(Object.values(await faults(links))).toContain('the project has too many symlinks to look through');
    expect(process.cpuUsage(from).user / 1_000).toBeLessThan(10_000);
  });
});
