export * from './api/orchestrator.ts';
export * from './config.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './feed.ts';
export * from './json.ts';
export * from './run.ts';
