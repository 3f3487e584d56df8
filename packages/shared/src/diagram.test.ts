import { describe, expect, it } from 'vitest';
import { type DiagramType, extractConstraints, type ParsedDiagram, plainLabel } from './diagram.ts';

/** A diagram of nodes `id[label]` or, with braces, `id{label}`, and edges `a>b`. */
function aDiagram(type: DiagramType, nodes: readonly string[], edges: readonly string[] = []): ParsedDiagram {
  return {
    type,
    firstLine: 1,
    nodes: nodes.map((text) => {
      const [, id = '', bracket = '', label = ''] = /^(\w+)([[{])(.*)[\]}]$/.exec(text) ?? [];
      return { id, label, shape: bracket === '{' ? 'diamond' : 'square' };
    }),
    edges: edges.map((text) => {
      const [from = '', to = ''] = text.split('>');
      return { from, to, label: '' };
    }),
  };
}

describe('a flowchart', () => {
  it('requires each route once, over all diagrams of a plan', () => {
    const one = aDiagram('flowchart', ['a[Home]', 'b[About]', 'c[Home]'], ['a>b']);
    expect(extractConstraints([one, one])).toEqual({
      requiredRoutes: ['Home', 'About'],
      requiredComponents: [],
      dataEntities: [],
      validationRules: [
        { type: 'route_exists', route: 'Home' },
        { type: 'route_exists', route: 'About' },
      ],
    });
  });

  it('requires the branches of a decision, another decision among them, and nothing of one that leads nowhere', () => {
    const { validationRules } = extractConstraints([
      aDiagram(
        'flowchart',
        ['a{Known?}', 'b{Allowed?}', 'c[Shop]', 'd{Lost?}'],
        ['a>b', 'a>c', 'b>c', 'b>c', 'x>c', 'b>y'],
      ),
    ]);
    expect(validationRules).toEqual([
      { type: 'conditional_branch', from: 'Known?', to: ['Allowed?', 'Shop'] },
      { type: 'conditional_branch', from: 'Allowed?', to: ['Shop'] },
    ]);
  });

  it.each([
    ['Authenticated?', 'AuthenticationCheck'],
    ['Is the user authorized?', 'TheUserAuthorizationCheck'],
    ['Valid token?', 'ValidTokenCheck'],
    ['Is?', 'IsCheck'],
    ['größer als 10?', 'GrößerAls10Check'],
  ])('requires of the decision %j the component %s', (label, component) => {
    expect(extractConstraints([aDiagram('flowchart', [`a{${label}}`])]).requiredComponents).toEqual([component]);
  });

  it('requires nothing of labels without a word', () => {
    expect(extractConstraints([aDiagram('flowchart', ['a{?}', 'b[]'], ['a>b'])])).toMatchObject({
      requiredComponents: [],
      requiredRoutes: [],
      validationRules: [],
    });
  });
});

it('tells components from people, systems of others and entities', () => {
  const c4: ParsedDiagram = {
    type: 'c4',
    firstLine: 1,
    nodes: [
      { id: 'a', label: 'Web App', shape: 'container' },
      { id: 'b', label: 'Customer', shape: 'person' },
      { id: 'c', label: 'Auditor', shape: 'external_person' },
      { id: 'd', label: 'Mail', shape: 'external_system' },
    ],
    edges: [],
  };
  const others = (['sequence', 'state', 'requirement', 'other'] as const).map((type) => aDiagram(type, ['a[Nothing]']));
  expect(
    extractConstraints([
      c4,
      aDiagram('class', ['a[Cart]']),
      aDiagram('architecture', ['a[Server]']),
      aDiagram('er', ['a[ORDER]']),
      ...others,
    ]),
  ).toEqual({
    requiredRoutes: [],
    requiredComponents: ['Web App', 'Cart', 'Server'],
    dataEntities: ['ORDER'],
    validationRules: [],
  });
});

it.each([
  ['Sign in<br/>page', 'Sign in page'],
  ['<b>Home</b>  \n page', 'Home page'],
  ['ﬂ°quot¶ßxﬂ°°35¶ß &amp; &#39;y&#39;', "\"x# & 'y'"],
  ['fa:fa-user Login', 'Login'],
  ['**Bold** a < b', 'Bold a < b'],
  ['&unknown; &constructor; &#99999999;', '&unknown; &constructor; &#99999999;'],
  ['', ''],
])('makes plain text of the label %j', (label, text) => {
  expect(plainLabel(label)).toBe(text);
});
