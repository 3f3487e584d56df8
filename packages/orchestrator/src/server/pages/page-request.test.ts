import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { wantsPage } from './page-request.ts';

const asked = (url: string, accept?: string, method = 'GET') =>
  wantsPage({ url, method, headers: { accept } } as unknown as IncomingMessage);

it.each(['text/html', 'text/html,application/xhtml+xml,*/*;q=0.8', 'TEXT/HTML;q=0.5'])(
  'a browser takes %s',
  (accept) => {
    expect(asked('/nothing', accept)).toBe(true);
    expect(asked('/nothing', accept, 'HEAD')).toBe(true);
    expect(asked('/nothing', accept, 'POST')).toBe(false);
  },
);

it.each([undefined, '*/*', 'application/json', 'text/html;q=0', 'application/json, text/html;q=0.000'])(
  'a program takes %s',
  (accept) => {
    expect(asked('/nothing', accept)).toBe(false);
  },
);

it.each(['/api', '/api/', '/api/x', '/API/x', '/api%2Fx', '/%61pi/x', '/api?x=1', '//api/x', '/api/%'])(
  'the API has no page at %s',
  (url) => {
    expect(asked(url, 'text/html')).toBe(false);
  },
);

it('an address that only begins like the API has a page', () => {
  expect(asked('/apiary', 'text/html')).toBe(true);
});
