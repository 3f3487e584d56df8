/**
 * A server for tests that end it from outside: configured by its environment, prints its address and token as one line
 * of JSON, logs to stderr, stops on SIGTERM.
 */
import { pino } from 'pino';
import { startOrchestrator } from '../src/compose.ts';
import { readServerConfig } from '../src/config.ts';

const config = readServerConfig(process.env);
const running = await startOrchestrator({ config, log: pino({ level: config.logLevel }, pino.destination(2)) });
process.once('SIGTERM', () => void running.stop().then(() => process.exit(0)));
process.stdout.write(`${JSON.stringify({ url: running.server.url, token: running.token })}\n`);
