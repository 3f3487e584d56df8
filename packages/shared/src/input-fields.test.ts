import { describe, expect, it } from 'vitest';
import { fieldsOf, fileFieldOf, inputOf } from './input-fields.ts';
import type { JsonObject } from './json.ts';

/** As `z.toJSONSchema(…, { io: 'input' })` writes an object of every kind of field. */
const SCHEMA: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    customer: { type: 'string', minLength: 1, maxLength: 200, description: 'Whom the invoice is for.' },
    letter: { type: 'string', maxLength: 20_000 },
    cents: { type: 'integer', exclusiveMinimum: 0, maximum: 9_007_199_254_740_991 },
    rate: { type: 'number', minimum: 0, maximum: 1 },
    currency: { type: 'string', enum: ['EUR', 'USD'], default: 'EUR' },
    level: {
      anyOf: [
        { type: 'number', const: 1 },
        { type: 'number', const: 2 },
      ],
    },
    express: { default: false, type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    days: { type: 'array', items: { type: 'string', enum: ['Mon', 'Tue'] } },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    remindAfterMs: { default: 1_000, type: 'integer' },
    lines: { type: 'array', items: { type: 'object', properties: { text: { type: 'string' } } } },
  },
  required: ['customer', 'cents'],
  additionalProperties: false,
};

describe('Fields of an input', () => {
  it('are of the kind that the schema of each says', () => {
    const kinds = fieldsOf(SCHEMA).map(({ name, kind, isRequired }) => [
      name,
      kind,
      ...(isRequired ? ['required'] : []),
    ]);
    expect(kinds).toEqual([
      ['customer', 'text', 'required'],
      ['letter', 'text'],
      ['cents', 'number', 'required'],
      ['rate', 'number'],
      ['currency', 'choice'],
      ['level', 'choice'],
      ['express', 'switch'],
      ['tags', 'list'],
      ['days', 'choices'],
      ['note', 'text'],
      ['remindAfterMs', 'number'],
      ['lines', 'json'],
    ]);
  });

  it('have titles, descriptions, limits and defaults', () => {
    const fields = new Map(fieldsOf(SCHEMA).map((field) => [field.name, field]));
    expect(fields.get('customer')).toMatchObject({
      title: 'Customer',
      description: 'Whom the invoice is for.',
      isLong: false,
    });
    expect(fields.get('letter')).toMatchObject({ isLong: true });
    expect(fields.get('cents')).toMatchObject({ isInteger: true, minimum: 1 });
    expect(fields.get('cents')).not.toHaveProperty('maximum');
    expect(fields.get('rate')).toMatchObject({ isInteger: false, minimum: 0, maximum: 1 });
    expect(fields.get('currency')).toMatchObject({ options: ['EUR', 'USD'], fallback: 'EUR' });
    expect(fields.get('remindAfterMs')).toMatchObject({ title: 'Remind after ms', fallback: 1_000 });
  });

  it('are none where the workflow takes no input, and one of JSON where it takes something else than fields', () => {
    expect(fieldsOf(null)).toEqual([]);
    for (const schema of [{ type: 'object', additionalProperties: { type: 'string' } }, { anyOf: [] }, {}])
      expect(fieldsOf(schema).map(({ name, kind }) => [name, kind])).toEqual([['', 'json']]);
  });
});

describe('The input that fields make', () => {
  const fields = fieldsOf(SCHEMA);

  it('leaves out what was left empty, and has each value as its kind', () => {
    const texts = {
      customer: 'Ada ',
      cents: ' 5 ',
      rate: '',
      level: '2',
      express: 'true',
      tags: 'a\n\n b \n',
      days: '["Tue"]',
      lines: '[{"text":"x"}]',
    };
    expect(inputOf(fields, texts)).toEqual({
      faults: [],
      input: {
        customer: 'Ada ',
        cents: 5,
        level: 2,
        express: true,
        tags: ['a', 'b'],
        days: ['Tue'],
        lines: [{ text: 'x' }],
      },
    });
  });

  it('has a switch that was turned off again, since its default may be on', () => {
    expect(inputOf(fields, { customer: 'x', cents: '1', express: 'false' }).input).toMatchObject({ express: false });
  });

  it.each([
    [{}, 'input.customer', 'This is needed.'],
    [{ cents: 'five' }, 'input.cents', "'five' is not a number."],
    [{ cents: '1.5' }, 'input.cents', 'A whole number is needed.'],
    [{ cents: '0' }, 'input.cents', 'At least 1 is needed.'],
    [{ rate: '2' }, 'input.rate', 'At most 1 is possible.'],
    [{ currency: 'GBP' }, 'input.currency', "'GBP' is not one of the choices."],
    [{ lines: '[' }, 'input.lines', 'This is not JSON'],
  ])('says of %j what is wrong beside the field', (texts, path, message) => {
    const { faults } = inputOf(fields, texts);
    expect(faults.find((fault) => fault.path === path)?.message).toContain(message);
  });

  it('of one field of JSON is that object', () => {
    const whole = fieldsOf({ type: 'object', additionalProperties: {} });
    expect(inputOf(whole, { '': '{"a":1}' })).toEqual({ input: { a: 1 }, faults: [] });
    expect(inputOf(whole, { '': '[1]' }).faults).toMatchObject([{ path: 'input' }]);
  });
});

describe('A field for the path of a file of the repository', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      note: { type: 'string' },
      planPath: { type: 'string', maxLength: 1_000, repositoryFile: 'text/markdown' },
    },
    required: ['planPath'],
  };

  it('is found by its media type', () => {
    expect(fileFieldOf(schema, 'text/markdown')).toMatchObject({ name: 'planPath', isLong: false });
    expect(fileFieldOf(schema, 'text/csv')).toBeUndefined();
    expect(fileFieldOf(null, 'text/markdown')).toBeUndefined();
  });

  it('takes a path from the root of the repository and refuses any other', () => {
    const read = (planPath: string) => inputOf(fieldsOf(schema), { planPath });
    expect(read('docs/a..b.md')).toEqual({ input: { planPath: 'docs/a..b.md' }, faults: [] });
    for (const [path, words] of [
      ['/srv/docs/plan.md', 'is an absolute path'],
      ['C:\\docs\\plan.md', 'is an absolute path'],
      ['docs/../../plan.md', 'leaves the repository'],
    ] as const)
      expect(read(path).faults).toEqual([{ path: 'input.planPath', message: expect.stringContaining(words) }]);
  });
});
