import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handle } from '../src/app.js';

test('the front page welcomes', () => {
  assert.equal(handle({ method: 'GET', path: '/' }).body, 'Welcome to Notes');
});

test('the dashboard sends strangers to the login', () => {
  assert.deepEqual(handle({ method: 'GET', path: '/dashboard' }), { status: 302, headers: { location: '/login' } });
});

test('an unknown page is not found', () => {
  assert.equal(handle({ method: 'GET', path: '/nowhere' }).status, 404);
});
