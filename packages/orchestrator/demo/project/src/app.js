/** Routes by method and path; each gets the request and answers with { status, headers?, body? }. */
export const routes = {
  'GET /': () => ({ status: 200, body: 'Welcome to Notes' }),
  'GET /dashboard': (request) =>
    request.user ? { status: 200, body: `Notes of ${request.user}` } : { status: 302, headers: { location: '/login' } },
};

/** Answers a request { method, path, query, user }. */
export function handle(request) {
  const route = routes[`${request.method} ${request.path}`];
  return route ? route(request) : { status: 404, body: 'There is no such page' };
}
