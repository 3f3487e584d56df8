/**
 * Restate: its server, from npm, on loopback, and the workflows as HTTP/2 services in this process. The server syncs its
 * log as it comes. The gate is a durable promise that the approval resolves.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http2';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as restate from '@restatedev/restate-sdk';
import { workload, Workload } from '../contest/contender.ts';

const READY_WITHIN_MS = 30_000;
const LOOPBACK = '127.0.0.1';

const waiting = new Map();
const change = restate.workflow({
  name: 'change',
  handlers: {
    run: async (context) => {
      const id = context.key;
      await context.run('planning', () => workload.plan(id));
      waiting.get(id)?.();
      waiting.delete(id);
      await context.promise('approval');
      await context.run('implementing', () => workload.implement(id));
      return context.run('validating', () => workload.validate(id));
    },
    approve: restate.handlers.workflow.shared(async (context) => {
      await context.promise('approval').resolve(true);
    }),
  },
});
const growth = restate.service({
  name: 'growth',
  handlers: {
    run: async (context, steps) => {
      // Like DBOS: the state is the code's, and comes back from the journal.
      const messages = [];
      while (messages.length < steps) messages.push(await context.run('growing', () => workload.grow()));
    },
  },
});

/** @type {import('../contest/contender.ts').OpenContender} */
export async function open({ folder }) {
  const ports = await portsOf(folder);
  const server = startServer(folder, ports);
  process.once('exit', () => server.kill('SIGKILL'));
  const endpoint = createServer(restate.createEndpointHandler({ services: [change, growth], logger: () => {} }));
  await new Promise((resolve) => {
    endpoint.listen(ports.service, LOOPBACK, resolve);
  });
  const ingress = `http://${LOOPBACK}:${ports.ingress}`;
  const admin = `http://${LOOPBACK}:${ports.admin}`;
  await untilOk(server, () => fetch(`${admin}/health`));
  await untilOk(server, () =>
    post(`${admin}/deployments`, { uri: `http://${LOOPBACK}:${ports.service}`, force: true }),
  );
  await untilOk(server, () => fetch(`${ingress}/restate/health`));
  return {
    async start(id) {
      const atGate = new Promise((resolve) => {
        waiting.set(id, resolve);
      });
      await jsonOf(await post(`${ingress}/change/${id}/run/send`));
      await atGate;
    },
    async approve(id) {
      await jsonOf(await post(`${ingress}/change/${id}/approve`));
      Workload.check(id, await jsonOf(await fetch(`${ingress}/restate/workflow/change/${id}/attach`)));
    },
    async grow(_id, steps) {
      await jsonOf(await post(`${ingress}/growth/run`, steps));
    },
    processes: () => [server.pid],
    // Its files are made beforehand and hold more than the runs.
    bytesOnDisk: null,
    async close() {
      const ended = new Promise((resolve) => {
        server.once('exit', resolve);
      });
      server.kill('SIGTERM');
      await ended;
      endpoint.close();
    },
  };
}

/** A deployment is known by its address, so that a later process has to stand at the same one. */
async function portsOf(folder) {
  const file = path.join(folder, 'ports.json');
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    const [node, ingress, admin, service] = await freePorts(4);
    writeFileSync(file, JSON.stringify({ node, ingress, admin, service }));
    return { node, ingress, admin, service };
  }
}

async function freePorts(count) {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise((resolve, reject) => {
          const server = net.createServer();
          server.once('error', reject);
          server.listen(0, LOOPBACK, () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function startServer(folder, ports) {
  const data = path.join(folder, 'restate');
  mkdirSync(data, { recursive: true });
  const log = openSync(path.join(folder, 'restate.log'), 'a');
  const binary = createRequire(import.meta.url).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  );
  return spawn(binary, ['--no-logo'], {
    stdio: ['ignore', log, log],
    env: {
      ...process.env,
      RESTATE_DISABLE_TELEMETRY: 'true',
      RESTATE_LOG_FILTER: 'warn',
      RESTATE_NODE_NAME: 'bench',
      RESTATE_BASE_DIR: data,
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_BIND_IP: LOOPBACK,
      RESTATE_BIND_PORT: String(ports.node),
      RESTATE_ADVERTISED_HOST: LOOPBACK,
      RESTATE_INGRESS__BIND_ADDRESS: `${LOOPBACK}:${ports.ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `${LOOPBACK}:${ports.admin}`,
    },
  });
}

async function untilOk(server, ask) {
  const until = Date.now() + READY_WITHIN_MS;
  for (;;) {
    try {
      if ((await ask()).ok) return;
    } catch {
      // It does not listen yet.
    }
    if (server.exitCode !== null) throw new Error(`The Restate server ended with code ${server.exitCode}.`);
    if (Date.now() > until) throw new Error(`The Restate server was not ready within ${READY_WITHIN_MS} ms.`);
    await sleep(20);
  }
}

function post(url, body) {
  return fetch(
    url,
    body === undefined
      ? { method: 'POST' }
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
  );
}

async function jsonOf(response) {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text.slice(0, 200)}`);
  return text === '' ? null : JSON.parse(text);
}
