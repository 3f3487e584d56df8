import { createServer } from 'node:http';
import { handle } from './app.js';

createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  const answer = handle({ method: request.method, path: url.pathname, query: Object.fromEntries(url.searchParams) });
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body);
}).listen(8080);
