/** The published schemas, held together with the code that writes and reads what they describe. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { featureListJsonSchema } from '../workflows/full-auto/features.ts';
import { roadmapJsonSchema } from '../workflows/roadmap-item/roadmap-file.ts';
import { extendMemory } from './memory/memory.ts';
import { jsonSchemaOf, memoryFrontMatterSchema, RECORD_SCHEMAS } from './record-schemas.ts';

const FOLDER = fileURLToPath(new URL('../../../../docs/schemas/', import.meta.url));

/** Those of the record, and those of files that a workflow reads. */
const SCHEMAS: Readonly<Record<string, object>> = {
  ...Object.fromEntries(Object.keys(RECORD_SCHEMAS).map((name) => [name, jsonSchemaOf(name)])),
  roadmap: roadmapJsonSchema(),
  'feature-list': featureListJsonSchema(),
};

// UPDATE_SCHEMAS=1 writes them anew, for the formatter to put in order.
it.each(Object.entries(SCHEMAS))('docs/schemas/%s.schema.json is what the code reads and writes', (name, schema) => {
  const file = `${FOLDER}${name}.schema.json`;
  if (process.env['UPDATE_SCHEMAS'] === '1') writeFileSync(file, `${JSON.stringify(schema, null, 2)}\n`);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(schema);
});

it('there is no other file beside them', () => {
  expect(readdirSync(FOLDER).sort()).toEqual(
    Object.keys(SCHEMAS)
      .map((name) => `${name}.schema.json`)
      .sort(),
  );
});

it('the front matter that a run writes is as its schema says', () => {
  const { text } = extendMemory(null, {
    project: 'shop',
    date: '2026-02-21',
    title: 'Login',
    runId: 'r-1',
    decisions: [],
    techStack: ['Next.js 14'],
    patterns: ['Soft deletes'],
  });
  const fields: unknown = parse(text.split('---\n')[1] ?? '');
  expect(memoryFrontMatterSchema.parse(fields)).toEqual(fields);
  expect(fields).toMatchObject({ project: 'shop', techStack: ['Next.js 14'] });
});
