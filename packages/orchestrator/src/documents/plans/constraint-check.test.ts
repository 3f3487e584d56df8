import { describe, expect, it } from 'vitest';
import { growthOf, LINEAR } from '../../../test/fixtures/growth.fixture.ts';
import { checkConstraints } from './constraint-check.ts';
import type { ParsedConstraints } from '@autonomous/shared/diagram';

const demanding = (constraints: Partial<ParsedConstraints>): ParsedConstraints => ({
  requiredRoutes: [],
  requiredComponents: [],
  dataEntities: [],
  validationRules: [],
  ...constraints,
});

const routeIn = (route: string, path: string, content = ''): string | undefined =>
  checkConstraints(demanding({ requiredRoutes: [route] }), [{ path, content }])[0]?.where;

describe('a required route', () => {
  it.each([
    ['src/server.ts', "const x = 1;\napp.get('/login', handler);", 'src/server.ts:2'],
    ['src/server.ts', 'router.get("/auth/login/:next", handler)', 'src/server.ts:1'],
    ['src/nav.tsx', '<a href="/login-page?x=1">', 'src/nav.tsx:1'],
    ['src/nav.tsx', 'const url = `https://example.com/login`;', 'src/nav.tsx:1'],
    ['app/urls.py', "urlpatterns = [path('login/', login)]", 'app/urls.py:1'],
    ['src/routes.ts', "{ path: 'login', component: X }", 'src/routes.ts:1'],
    ['public/index.html', '<a href="login.html">Sign in</a>', 'public/index.html:1'],
    ['src/LoginPage.tsx', '', 'src/LoginPage.tsx'],
    ['src/app/login/page.tsx', '', 'src/app/login/page.tsx'],
    ['src/app/(auth)/login-page/index.js', '', 'src/app/(auth)/login-page/index.js'],
    ['src/pages/login.component.ts', '', 'src/pages/login.component.ts'],
  ])('is found in %s %s', (path, content, where) => {
    expect(routeIn('Login Page', path, content)).toBe(where);
  });

  it.each([
    ['README.md', 'Open `/login` in the browser: "/login"'],
    ['docs/login.ts', "app.get('/login')"],
    ['src/login.test.ts', "request('/login')"],
    ['tests/login.ts', "request('/login')"],
    ['test_login.py', "client.get('/login')"],
    ['.autonomous/specs/001-login.md', '/login'],
    ['node_modules/x/login.js', "app.get('/login')"],
    ['package.json', '{"homepage": "/login"}'],
    ['src/server.ts', "// TODO: app.get('/login')"],
    ['src/server.ts', "run(); // later '/login'"],
    ['src/server.ts', "/*\n app.get('/login')\n*/"],
    ['src/server.py', "# path('login/')"],
    ['src/page.html', '<!-- <a href="/login"> -->'],
    ['src/server.ts', "import { x } from './login';"],
    ['src/server.ts', "import { x } from '@acme/login';"],
    ['src/server.ts', "app.get('/login-attempts')"],
    ['src/server.ts', "app.get('/catalogin')"],
    ['src/server.ts', "throw new Error('cannot open page /login')"],
    ['src/server.ts', 'const a = b /login/ c;'],
  ])('is undecided where only %s says %s', (path, content) => {
    expect(routeIn('Login Page', path, content)).toBeUndefined();
  });

  it('is found by a path that its label holds', () => {
    expect(routeIn('GET /api/todos', 'src/a.ts', "app.get('/api/todos', list)")).toBe('src/a.ts:1');
    expect(routeIn('GET /api/todos', 'src/a.ts', "app.get('/api/users', list)")).toBeUndefined();
  });

  it('is not taken for found because of a file name that every code base has', () => {
    for (const name of ['Error Page', 'Start', 'User', 'Main View']) {
      const file = name.split(' ')[0]?.toLowerCase();
      expect(routeIn(name, `src/${file}.ts`)).toBeUndefined();
    }
    expect(routeIn('Error Page', 'src/ErrorPage.tsx')).toBe('src/ErrorPage.tsx');
    expect(routeIn('Error Page', 'src/a.ts', "redirect('/error')")).toBe('src/a.ts:1');
  });

  it('is undecided, never an error, whatever its label is', () => {
    for (const label of ['', '?', 'Page', '((([[[', '$&\\', '.*', '/', '__proto__', 'ログイン', 'a'.repeat(10_000)]) {
      expect(routeIn(label, 'src/a.ts', "x('/a')")).toBeUndefined();
    }
    expect(routeIn('ログイン', 'src/ログイン.tsx')).toBe('src/ログイン.tsx');
  });
});

describe('other constraints', () => {
  it('are undecided, also where their name is in the code, and each is listed once', () => {
    const results = checkConstraints(
      demanding({
        requiredRoutes: ['Login Page'],
        requiredComponents: ['AuthenticationCheck'],
        dataEntities: ['User'],
        validationRules: [
          { type: 'route_exists', route: 'Login Page' },
          { type: 'conditional_branch', from: 'Authenticated?', to: ['Dashboard', 'Error Page'] },
        ],
      }),
      [
        {
          path: 'src/a.ts',
          content: "class AuthenticationCheck {}\nclass User {}\nif (authenticated) go('/dashboard');",
        },
      ],
    );
    expect(results).toEqual([
      { kind: 'route', name: 'Login Page', result: 'undecided' },
      { kind: 'component', name: 'AuthenticationCheck', result: 'undecided' },
      { kind: 'entity', name: 'User', result: 'undecided' },
      { kind: 'branch', name: 'Authenticated? → Dashboard, Error Page', result: 'undecided' },
    ]);
  });
});

it.each(['/*', '"', "'/login", '/login', ' //', '<!--', 'path=', 'href="', '\n', ' //\n', '\t//x', '/**/'])(
  'takes a file of %j in time that grows with its size alone',
  async (part) => {
    const route = demanding({ requiredRoutes: ['Login Page', '/login'] });
    const make = (size: number) => [{ path: 'a.ts', content: part.repeat(size / part.length) }];
    expect(await growthOf(120_000, make, (files) => checkConstraints(route, files))).toBeLessThan(LINEAR);
  },
);

it.each([
  ["go('/login') // '/a'"],
  ["\t// go('/a')\ngo('/login')"],
  ["go(\t'/login'\t// '/a'\t)"],
  ["x = 'https://b' + '/login'"],
])('passes over comments in %j', (content) => {
  expect(routeIn('/login', 'src/x.ts', content)).toBe(`src/x.ts:${content.split('\n').length}`);
  expect(routeIn('/a', 'src/x.ts', content)).toBeUndefined();
});
