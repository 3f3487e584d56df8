import { describe, expect, it } from 'vitest';
import {
  MAX_DEPENDENCIES,
  MAX_ITEMS,
  MAX_ROADMAP_CHARACTERS,
  mergeRoadmaps,
  readRoadmap,
  type Roadmap,
  roadmapJsonSchema,
  writeRoadmap,
} from './roadmap-file.ts';

const AN_ITEM = {
  id: 'login',
  title: 'Sign in by a link',
  type: 'feature',
  moscow: 'must-have',
  status: 'not-started',
  health: 'on-track',
  timeHorizon: 'now',
};

/** As files of before `workflowState` have it, with fields that nothing here reads. */
const OLD_FILE = `{
  "projectName": "Shop",
  "lastUpdated": "2026-02-01T22:17:59.929097+00:00",
  "timeHorizons": { "now": { "label": "Now", "description": "This sprint" } },
  "items": [
    {
      "id": "550e8400-e29b-41d4-a716-446655440001",
      "title": "User Authentication",
      "description": "By a code in an e-mail.",
      "type": "feature",
      "moscow": "must-have",
      "status": "completed",
      "health": "on-track",
      "timeHorizon": "now",
      "effort": 8,
      "labels": ["auth", "security"],
      "dependencies": [],
      "createdAt": "2025-12-01T10:00:00.000000+00:00",
      "updatedAt": "2026-01-15T14:30:00.000000+00:00",
      "linkedArtifacts": { "specSlug": "add-authentication" }
    },
    {
      "id": "550e8400-e29b-41d4-a716-446655440002",
      "title": "Dashboard Layout",
      "type": "technical-debt",
      "moscow": "should-have",
      "status": "on-hold",
      "health": "off-track",
      "timeHorizon": "later"
    }
  ]
}
`;

const withItem = (fields: object): string => JSON.stringify({ items: [{ ...AN_ITEM, ...fields }] });
const faultsOf = (text: string) => {
  const read = readRoadmap(text);
  return read.ok ? [] : read.faults;
};
const read = (text: string): Roadmap => {
  const found = readRoadmap(text);
  if (!found.ok) throw new Error(found.faults.map(({ message }) => message).join('\n'));
  return found.roadmap;
};

describe('readRoadmap', () => {
  it('takes a file without workflowState as it is, with unknown fields and the order of its fields', () => {
    const roadmap = read(OLD_FILE);
    expect(roadmap).toEqual(JSON.parse(OLD_FILE));
    expect(Object.keys(roadmap.items[0] ?? {}).slice(0, 4)).toEqual(['id', 'title', 'description', 'type']);
  });

  it('takes a workflowState with metrics and fields of later versions', () => {
    const workflowState = {
      phase: 'implementing',
      specSlug: 'login',
      tasksTotal: 7,
      tasksCompleted: 3,
      lastSession: '2026-02-01T10:00:00Z',
      attempts: 0,
      blockers: ['no key'],
      metrics: { costUsd: 1.25, inputTokens: 10, outputTokens: 2 },
      later: true,
    };
    expect(read(withItem({ workflowState })).items[0]?.workflowState).toEqual(workflowState);
    expect(read(withItem({ workflowState: {} })).items[0]?.workflowState).toEqual({});
  });

  it.each([
    [{ moscow: 'urgent' }, 'moscow', '"urgent"', 'one of must-have, should-have, could-have, wont-have'],
    [{ status: 3 }, 'status', '3', 'one of not-started, in-progress, completed, on-hold'],
    [{ health: null }, 'health', 'null', 'one of on-track, at-risk, off-track, blocked'],
    [{ timeHorizon: undefined }, 'timeHorizon', null, 'one of now, next, later'],
    [{ type: 'chore' }, 'type', '"chore"', 'one of feature, bugfix, technical-debt, research, epic'],
    [{ title: '' }, 'title', '""', 'a text of 1 to 200 characters'],
    [{ dependencies: 'a' }, 'dependencies', '"a"', 'a list of at most 100 ids of items'],
    [{ dependencies: ['a', 2] }, 'dependencies[1]', '2', 'the id of an item'],
    [{ createdAt: 'yesterday' }, 'createdAt', '"yesterday"', 'such as 2026-02-01T10:00:00Z'],
    [{ updatedAt: '2026-02-30T10:00:00Z' }, 'updatedAt', '"2026-02-30T10:00:00Z"', 'a date and time'],
    [{ workflowState: [] }, 'workflowState', '[]', 'an object'],
    [{ workflowState: { phase: 'done' } }, 'workflowState.phase', '"done"', 'one of not-started, ideating, specifying'],
    [{ workflowState: { attempts: 1.5 } }, 'workflowState.attempts', '1.5', 'a whole number'],
    [{ workflowState: { blockers: [1] } }, 'workflowState.blockers[0]', '1', 'a text'],
    [{ workflowState: { metrics: { costUsd: -1 } } }, 'workflowState.metrics.costUsd', '-1', 'a number from 0'],
  ])('names the item, the field, the value and what is allowed for %j', (fields, field, value, allowed) => {
    const faults = faultsOf(withItem(fields));
    expect(faults).toEqual([{ item: 'login', field, value, message: expect.stringContaining(`Allowed: `) }]);
    expect(faults[0]?.message).toContain(allowed);
    expect(faults[0]?.message).toContain(`Field '${field}' of item 'login' is ${value ?? 'missing'}.`);
  });

  it('has words for every field of the schema', () => {
    for (const field of fieldsOf(itemSchemaOf(roadmapJsonSchema())))
      for (const wrong of [{}, -1.5, ['x', 1]]) {
        const nested = field.split('.').reduceRight<unknown>((value, name) => ({ [name]: value }), wrong);
        // Throws where a field has none.
        expect(faultsOf(withItem(nested as object))).toBeInstanceOf(Array);
      }
  });

  it('names all faults, and an item without an id by its place', () => {
    const items = [{ ...AN_ITEM, id: '' }, 3, { ...AN_ITEM, id: '-x', title: 1 }];
    expect(faultsOf(JSON.stringify({ items })).map(({ item, field }) => [item, field])).toEqual([
      ['items[0]', 'id'],
      ['items[1]', null],
      ['-x', 'id'],
      ['-x', 'title'],
    ]);
  });

  it('refuses two items with one id, and a field that stands twice', () => {
    const items = [AN_ITEM, AN_ITEM, { ...AN_ITEM, id: 'other' }];
    expect(faultsOf(JSON.stringify({ items }))).toEqual([
      {
        item: 'login',
        field: 'id',
        value: '"login"',
        message: `Field 'id' of item 'login' is "login", which 2 items have. Allowed: an id of its own for each item.`,
      },
    ]);
    const twice = withItem({}).replace('"status"', '"status": "completed", "status"');
    expect(faultsOf(twice).map(({ message }) => message)).toEqual([
      "Field 'status' of item 'login' stands more than once. Allowed: once.",
    ]);
  });

  it.each([
    ['', 'The roadmap is not JSON from line 1, column 1 on: value expected.'],
    ['{\n  "items": [}\n', 'The roadmap is not JSON from line 2, column 13 on: value expected.'],
    ['{"items": []} // all', 'The roadmap is not JSON from line 1, column 15 on: invalid comment token.'],
    ['{"items": []}/*', 'The roadmap is not JSON from line 1, column 14 on: invalid comment token.'],
    ['/*', 'The roadmap is not JSON from line 1, column 1 on: invalid comment token.'],
    ['{"items": [],}', 'The roadmap is not JSON from line 1, column 14 on: property name expected.'],
    ['[]', 'The roadmap is []. Allowed: an object with a list of items.'],
    ['{}', `Field 'items' of the roadmap is missing. Allowed: a list of at most ${MAX_ITEMS} items.`],
  ])('says where %j is no roadmap', (text, message) => {
    expect(faultsOf(text)).toEqual([expect.objectContaining({ item: null, message })]);
  });

  it('takes none that is longer, deeper or more than the limits', () => {
    const items = Array.from({ length: MAX_ITEMS }, (_, index) => ({ ...AN_ITEM, id: `i-${index}` }));
    const dependencies = items.slice(0, MAX_DEPENDENCIES).map(({ id }) => id);
    expect(faultsOf(JSON.stringify({ items }))).toEqual([]);
    expect(faultsOf(withItem({ dependencies }))).toEqual([]);
    expect(faultsOf(JSON.stringify({ items: [...items, AN_ITEM] }))[0]?.field).toBe('items');
    expect(faultsOf(withItem({ dependencies: [...dependencies, 'x'] }))[0]?.field).toBe('dependencies');
    expect(faultsOf(`{"items": []}${' '.repeat(MAX_ROADMAP_CHARACTERS)}`)[0]?.message).toContain('characters');
  });

  it.each(['[', '{"a":', '[{"a":', '"\n[', '/*"*/[', '[},', '[},{"a":'])('ends for a text of many %j', (part) => {
    const text = `{"items": [], "deep": ${part.repeat(Math.floor(900_000 / part.length))}`;
    expect(faultsOf(text)).toHaveLength(1);
  });

  it('takes a text with a byte order mark', () => {
    expect(read(`\ufeff${OLD_FILE}`).items).toHaveLength(2);
  });
});

describe('writeRoadmap', () => {
  it('gives the text again, byte for byte, where nothing changed', () => {
    for (const text of [OLD_FILE, OLD_FILE.trimEnd(), OLD_FILE.replaceAll('\n', '\r\n'), `\ufeff${OLD_FILE}`])
      expect(writeRoadmap(read(text), text)).toBe(text);
  });

  it('adds the workflowState of one item and changes no other line', () => {
    const roadmap = read(OLD_FILE);
    const [first, second] = roadmap.items as [Roadmap['items'][number], Roadmap['items'][number]]; // the file has two
    const changed = { ...roadmap, items: [first, { ...second, workflowState: { phase: 'ideating' as const } }] };
    expect(writeRoadmap(changed, OLD_FILE)).toBe(
      OLD_FILE.replace(
        '"timeHorizon": "later"\n',
        '"timeHorizon": "later",\n      "workflowState": {\n        "phase": "ideating"\n      }\n',
      ),
    );
  });
});

describe('the JSON Schema', () => {
  it('has workflowState as the format says, and metrics beside it', () => {
    const { properties } = itemSchemaOf(roadmapJsonSchema()).properties?.['workflowState'] ?? {};
    const { metrics, ...rest } = properties ?? {};
    expect(rest).toEqual({
      phase: {
        type: 'string',
        enum: [
          'not-started',
          'ideating',
          'specifying',
          'decomposing',
          'implementing',
          'testing',
          'committing',
          'releasing',
          'completed',
        ],
      },
      specSlug: { type: 'string', description: 'Slug of the associated spec directory' },
      tasksTotal: { type: 'integer', description: 'Total tasks from decomposition' },
      tasksCompleted: { type: 'integer', description: 'Tasks marked complete' },
      lastSession: { type: 'string', format: 'date-time', description: 'ISO timestamp of last work session' },
      attempts: { type: 'integer', description: 'Retry attempts for current phase' },
      blockers: { type: 'array', items: { type: 'string' }, description: 'Current blocking issues' },
    });
    expect(Object.keys(metrics?.properties ?? {})).toEqual(['costUsd', 'inputTokens', 'outputTokens']);
  });
});

describe('mergeRoadmaps', () => {
  const item = (id: string, fields: object = {}) => ({ ...AN_ITEM, id, ...fields });
  const roadmap = (items: readonly object[], fields: object = {}) => read(JSON.stringify({ ...fields, items }));
  const base = roadmap([item('a'), item('b'), item('c')], { projectName: 'Shop' });
  const merge = (ours: Roadmap, theirs: Roadmap, from: Roadmap = base) => {
    const merged = mergeRoadmaps(from, ours, theirs);
    if (!merged.ok) throw new Error(JSON.stringify(merged.conflicts));
    return merged;
  };
  const conflictsOf = (ours: Roadmap, theirs: Roadmap, from: Roadmap = base) => {
    const merged = mergeRoadmaps(from, ours, theirs);
    return merged.ok ? [] : merged.conflicts;
  };
  const STATE = { phase: 'testing', attempts: 1 };

  it("keeps a person's edits beside the state that the engine writes, in one item and in others", () => {
    const ours = roadmap([item('a', { status: 'in-progress', workflowState: STATE }), item('b'), item('c')], {
      projectName: 'Shop',
    });
    const theirs = roadmap([item('a', { title: 'New', effort: 3 }), item('b', { moscow: 'could-have' }), item('c')], {
      projectName: 'Shop 2',
    });
    expect(merge(ours, theirs)).toEqual({
      ok: true,
      roadmap: {
        projectName: 'Shop 2',
        items: [
          item('a', { title: 'New', effort: 3, status: 'in-progress', workflowState: STATE }),
          item('b', { moscow: 'could-have' }),
          item('c'),
        ],
      },
      overwritten: [],
    });
  });

  it.each([
    ['changed', { phase: 'completed' }],
    ['removed', undefined],
  ])('keeps our workflowState where a person %s it, and names the item', (_, workflowState) => {
    const from = roadmap([item('a', { workflowState: { phase: 'ideating' } })]);
    const merged = merge(
      roadmap([item('a', { workflowState: STATE })]),
      roadmap([item('a', { workflowState, title: 'New' })]),
      from,
    );
    expect(merged).toMatchObject({ roadmap: { items: [{ title: 'New', workflowState: STATE }] }, overwritten: ['a'] });
  });

  it('takes no workflowState of an item that a person added', () => {
    const merged = merge(base, roadmap([...base.items, item('d', { workflowState: STATE })], { projectName: 'Shop' }));
    expect(merged.roadmap.items[3]).toEqual(item('d'));
    expect(merged.overwritten).toEqual(['d']);
  });

  it('has the items that either side added, in the order of theirs with ours after the item that they followed', () => {
    const ours = roadmap([item('a'), item('bug', { type: 'bugfix' }), item('b'), item('c'), item('last')]);
    const theirs = roadmap([item('c'), item('new'), item('a'), item('b')]);
    expect(merge(ours, theirs).roadmap.items.map(({ id }) => id)).toEqual(['c', 'last', 'new', 'a', 'bug', 'b']);
  });

  it('leaves out what either side removed and the other left as it was', () => {
    const merged = merge(roadmap([item('a'), item('b')]), roadmap([item('b'), item('c')]));
    expect(merged.roadmap.items.map(({ id }) => id)).toEqual(['b']);
    expect(merged.roadmap).not.toHaveProperty('projectName');
  });

  it('returns a field that both changed differently with both values, and decides nothing', () => {
    const ours = roadmap([item('a', { status: 'completed' }), item('b', { dependencies: ['a'] }), item('c')], {
      projectName: 'Ours',
    });
    const theirs = roadmap([item('a', { status: 'on-hold' }), item('b', { dependencies: ['c'] }), item('c')], {
      projectName: 'Theirs',
    });
    expect(mergeRoadmaps(base, ours, theirs)).toEqual({
      ok: false,
      conflicts: [
        { item: 'a', field: 'status', ours: 'completed', theirs: 'on-hold' },
        { item: 'b', field: 'dependencies', ours: ['a'], theirs: ['c'] },
        { item: null, field: 'projectName', ours: 'Ours', theirs: 'Theirs' },
      ],
    });
  });

  it('returns a field that one removed and the other changed, and an item likewise', () => {
    const from = roadmap([item('a', { dependencies: ['b'] }), item('b')]);
    expect(
      conflictsOf(roadmap([item('a', { dependencies: ['c'] }), item('b')]), roadmap([item('a'), item('b')]), from),
    ).toEqual([{ item: 'a', field: 'dependencies', ours: ['c'], theirs: undefined }]);
    const worked = item('b', { workflowState: STATE });
    expect(conflictsOf(roadmap([...from.items.slice(0, 1), worked]), roadmap(from.items.slice(0, 1)), from)).toEqual([
      { item: 'b', field: null, ours: worked, theirs: undefined },
    ]);
  });

  it('takes the same change of both for one, and of two times of the last change the later', () => {
    const side = (updatedAt: string, lastUpdated: string) =>
      roadmap([item('a', { status: 'in-progress', updatedAt }), item('b'), item('c')], {
        projectName: 'Shop',
        lastUpdated,
      });
    const merged = merge(
      side('2026-02-01T10:00:00+02:00', '2026-02-03T00:00:00Z'),
      side('2026-02-01T09:00:00Z', '2026-02-02T00:00:00Z'),
    );
    expect(merged.roadmap).toMatchObject({
      lastUpdated: '2026-02-03T00:00:00Z',
      items: [{ status: 'in-progress', updatedAt: '2026-02-01T09:00:00Z' }, {}, {}],
    });
  });

  it('gives theirs where we changed nothing, and ours where they changed nothing', () => {
    const other = roadmap([item('c', { title: 'x' }), item('a'), item('e')], { projectName: 'y', more: [1] });
    expect(merge(base, other).roadmap).toEqual(other);
    expect(
      merge(other, base)
        .roadmap.items.map(({ id }) => id)
        .toSorted(),
    ).toEqual(['a', 'c', 'e']);
    expect(merge(other, base).roadmap).toMatchObject({ projectName: 'y', more: [1] });
    expect(merge(other, other)).toEqual({ ok: true, roadmap: other, overwritten: [] });
  });
});

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
}

function itemSchemaOf(schema: JsonSchema): JsonSchema {
  const found = schema.properties?.['items']?.items;
  if (found === undefined) throw new Error('the schema has no items');
  return found;
}

function fieldsOf({ properties = {} }: JsonSchema): readonly string[] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    name,
    ...fieldsOf(schema).map((inner) => `${name}.${inner}`),
  ]);
}
