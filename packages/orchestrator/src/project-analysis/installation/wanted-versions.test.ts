import { describe, expect, it } from 'vitest';
import { isWanted, wantedVersions } from './wanted-versions.ts';

const wantedBy = (files: Readonly<Record<string, string>>) =>
  wantedVersions(new Map(Object.entries(files))).map(
    ({ program, wanted, source }) => `${source}: ${program} ${wanted}`,
  );

it('are read from the files of version managers and from manifests', () => {
  expect(
    wantedBy({
      '.nvmrc': 'v18.19.0\n',
      'package.json': '{"engines":{"node":">=20 <23"}}',
      '.python-version': '3.12\n',
      'pyproject.toml': '[project]\nrequires-python = ">=3.11"  # x\n',
      'go.mod': 'module x\n\ngo 1.24.1\n',
      'rust-toolchain.toml': '[toolchain]\nchannel = "1.80"\n',
      'rust-toolchain': 'nightly\n',
      'Cargo.toml': '[package]\nrust-version = "1.75"\n',
    }),
  ).toEqual([
    '.nvmrc: node v18.19.0',
    'package.json: node >=20 <23',
    '.python-version: python3 3.12',
    'pyproject.toml: python3 >=3.11',
    'go.mod: go >=1.24.1',
    'rust-toolchain.toml: cargo 1.80',
    'rust-toolchain: cargo nightly',
    'Cargo.toml: cargo >=1.75',
  ]);
});

it('are none where a file says nothing that is a version', () => {
  expect(wantedBy({ '.nvmrc': '$(id)', 'package.json': '{', 'go.mod': 'module x\n', 'rust-toolchain': '' })).toEqual(
    [],
  );
});

describe('a version', () => {
  it.each([
    ['v24.21.0', '>=20'],
    ['v24.21.0', '18 || >=22'],
    ['v24.21.0', '^24.1.0'],
    ['v24.21.0', '24.x'],
    ['v24.21.0', 'lts/*'],
    ['v24.21.0', '*'],
    ['Python 3.12.1', '>=3.10,<3.13'],
    ['Python 3.12.1', '3.12'],
    ['Python 3.12.1', '~=3.12'],
    ['go version go1.24.1 linux/amd64', '>=1.19'],
    ['cargo 1.95.0 (f2d3ce0bd 2026-03-21)', 'stable'],
  ])('%s is one of %s', (version, wanted) => {
    expect(isWanted(version, wanted)).toBe(true);
  });

  it.each([
    ['v24.21.0', '18'],
    ['v24.21.0', 'v24.20'],
    ['v24.21.0', '>=20 <23'],
    ['v24.21.0', '>= 20 < 23'],
    ['v24.21.0', '^18.0.0 || ^20.0.0'],
    ['Python 3.11.2', '>=3.12'],
    ['go version go1.19.8 linux/amd64', '>=1.24'],
    ['cargo 1.70.0', '1.80'],
  ])('%s does not satisfy %s', (version, wanted) => {
    expect(isWanted(version, wanted)).toBe(false);
  });
});
