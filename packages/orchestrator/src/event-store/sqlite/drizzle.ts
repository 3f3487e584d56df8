/**
 * Loads the parts of drizzle that are used with `require` instead of `import`. For each of its hundred modules that is
 * imported, Node parses its package.json of 180 kB again, which made the first list of every process five times slower.
 */
import { createRequire } from 'node:module';
import type * as Core from 'drizzle-orm';
import type * as Driver from 'drizzle-orm/better-sqlite3';
import type * as Tables from 'drizzle-orm/sqlite-core';

// The published package is bundled without this line, and `require` is the bundler's own.
const require = createRequire(import.meta.url);
// `require` returns `any`; the casts restore the modules' own types.
const core = require('drizzle-orm') as typeof Core;
const driver = require('drizzle-orm/better-sqlite3') as typeof Driver;
const tables = require('drizzle-orm/sqlite-core') as typeof Tables;

export const drizzle = { ...tables, ...core, openWith: driver.drizzle };
