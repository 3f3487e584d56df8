import { describe, expect, it } from 'vitest';
import { webViewOptions, webViewPage } from './web-view-page.ts';

const pageWith = (nonce: string): string =>
  webViewPage({
    nonce,
    cspSource: 'https://*.vscode-cdn.net',
    address: (file) => `https://files.vscode-cdn.net/${file}`,
  });

describe('E04 the page of a web view', () => {
  const page = pageWith('bm9uY2U=');
  const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1] ?? '';

  it('lets in nothing that its policy does not name, and names no script but by nonce', () => {
    const directives = new Map(policy.split('; ').map((each) => [each.split(' ')[0], each]));
    expect(directives.get('default-src')).toBe("default-src 'none'");
    expect(directives.get('script-src')).toBe("script-src 'nonce-bm9uY2U='");
    expect(directives.get('img-src')).toBe('img-src https://*.vscode-cdn.net data:');
    expect([...directives.keys()]).not.toContain('connect-src');
    expect([...directives.keys()]).not.toContain('frame-src');
    expect(policy).not.toMatch(/unsafe-eval|blob:|http:|\*(?!\.vscode-cdn)/);
    expect(directives.get('base-uri')).toBe("base-uri 'none'");
    expect(directives.get('form-action')).toBe("form-action 'none'");
  });

  it('follows no link to a command and reads no file but the screens', () => {
    expect(webViewOptions('dist/webview')).toEqual({
      enableScripts: true,
      enableCommandUris: false,
      localResourceRoots: ['dist/webview'],
    });
  });

  it('has no script, handler or link of its own beside that one', () => {
    expect(page.match(/<script[^>]*>/g)).toEqual([
      '<script type="module" nonce="bm9uY2U=" src="https://files.vscode-cdn.net/app.js">',
    ]);
    expect(page).not.toMatch(/\son\w+=|javascript:|command:|file:/i);
  });

  it('has the nonce that it is given, and no other', () => {
    expect(pageWith('YW5vdGhlcg==')).toBe(page.replaceAll('bm9uY2U=', 'YW5vdGhlcg=='));
  });
});
