import { homedir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { findFaults } from './vsix-contents.ts';

const MANIFEST = {
  name: 'autonomous',
  publisher: 'somebody',
  license: 'MIT',
  icon: 'media/icon.png',
  main: './dist/extension.cjs',
  repository: { url: 'https://example.com/a.git' },
  engines: { vscode: '^1.104.0' },
  activationEvents: ['onStartupFinished'],
  contributes: { viewsContainers: { activitybar: [{ id: 'autonomous', icon: 'media/outline.svg' }] } },
};

/** A package that is fit to publish, but for what is given. */
function contents(
  files: Readonly<Record<string, string | Buffer | null>> = {},
  manifest: object = {},
): Map<string, Buffer> {
  const all: Record<string, string | Buffer | null> = {
    '[Content_Types].xml': '',
    'extension.vsixmanifest': '',
    'extension/server.json': '{}',
    'extension/THIRD-PARTY-NOTICES.txt': '',
    'extension/package.json': JSON.stringify({ ...MANIFEST, ...manifest }),
    'extension/readme.md': '',
    'extension/changelog.md': '',
    'extension/LICENSE.txt': '',
    'extension/dist/extension.cjs': 'const fs = require("node:fs"); const vscode = require("vscode");',
    'extension/dist/webview/app.js': '',
    'extension/dist/webview/app.css': '',
    'extension/dist/webview/codicon.css': '',
    'extension/dist/webview/codicon.ttf': '',
    'extension/media/panel-dark.svg': '<svg/>',
    'extension/media/panel-light.svg': '<svg/>',
    'extension/media/icon.png': pngOf(128),
    'extension/media/outline.svg': '<svg/>',
    ...files,
  };
  return new Map(
    Object.entries(all)
      .filter((pair): pair is [string, string | Buffer] => pair[1] !== null)
      .map(([file, content]) => [file, Buffer.from(content)]),
  );
}

function pngOf(pixels: number): Buffer {
  const png = Buffer.alloc(24);
  png.write('\x89PNG', 'latin1');
  png.writeUInt32BE(pixels, 16);
  png.writeUInt32BE(pixels, 20);
  return png;
}

describe('a package', () => {
  it('is fit to publish when it holds what its manifest names, and no more', () => {
    expect(findFaults(contents())).toEqual([]);
  });

  it.each([
    ['extension/dist/extension.js.map', 'does not belong into the package'],
    ['extension/node_modules/left-pad/index.js', 'does not belong into the package'],
    ['extension/src/extension.ts', 'does not belong into the package'],
    ['extension/media/unused.png', 'does not belong into the package'],
    ['extension/.env', 'does not belong into the package'],
  ])('may not hold %s', (file, fault) => {
    expect(findFaults(contents({ [file]: '' }))).toEqual([`${file} ${fault}`]);
  });

  it.each(['extension/readme.md', 'extension/changelog.md', 'extension/LICENSE.txt', 'extension/dist/webview/app.js'])(
    'has %s',
    (file) => {
      expect(findFaults(contents({ [file]: null }))).toEqual([`${file} is missing`]);
    },
  );

  it('has every file that the manifest names', () => {
    expect(findFaults(contents({ 'extension/media/outline.svg': null, 'extension/dist/extension.cjs': null }))).toEqual(
      [
        'extension/dist/extension.cjs is named by package.json and missing',
        'extension/media/outline.svg is named by package.json and missing',
      ],
    );
  });

  it.each([
    ['//# sourceMappingURL=extension.js.map', 'extension/dist/extension.cjs names a source map'],
    [`throw "${homedir()}/thing"`, `extension/dist/extension.cjs holds a path of this machine: ${homedir()}`],
    ['require("ws")', 'extension/dist/extension.cjs needs ws, which is not in the package'],
  ])('does not say %s', (code, fault) => {
    expect(findFaults(contents({ 'extension/dist/extension.cjs': code }))).toEqual([fault]);
  });

  it.each([
    [{ publisher: undefined }, 'package.json has no publisher'],
    [{ repository: undefined }, 'package.json has no repository'],
    [{ engines: { vscode: '*' } }, 'package.json does not say from which VS Code on it works'],
    [{ activationEvents: ['*'] }, 'it is activated before VS Code has started'],
  ])('has a manifest with all that a registry asks for: %j', (manifest, fault) => {
    expect(findFaults(contents({}, manifest))).toEqual([fault]);
  });

  it('has an icon that is large enough', () => {
    expect(findFaults(contents({ 'extension/media/icon.png': pngOf(64) }))).toEqual([
      'media/icon.png is no square PNG of 128 pixels or more',
    ]);
  });
});
