import { readFile } from 'node:fs/promises';
import { InvalidRequest } from '@autonomous/shared';
import { build } from '../workflows/build/index.ts';
import { knownRolesOf } from '../workflows/workflow.ts';
import { describe, expect, it } from 'vitest';
import { findScriptCall, parseScript } from './script.ts';

const fixture = async () =>
  parseScript(await readFile(new URL('script.fixture.yaml', import.meta.url), 'utf8'), 'script.fixture.yaml');

function faultsOf(yaml: string): string {
  try {
    parseScript(yaml, 'demo.yaml', knownRolesOf([build], false));
  } catch (error) {
    if (error instanceof InvalidRequest) return error.message;
    throw error;
  }
  throw new Error('the script was taken');
}

describe('parseScript', () => {
  it('keeps the content of block scalars letter by letter', async () => {
    const script = await fixture();
    expect(script.roles['implementer']?.[1]?.turns[0]?.tools?.[0]?.input['content']).toBe(
      'export const greet = (name) => `Hello, ${name}!`;\n',
    );
  });

  it('names every fault with its line, its path and what is allowed', () => {
    const message = faultsOf(`name: demo
roles:
  planner:
    - turns:
        - txt: hello
          tools:
            - name: finsh
              input: {}
  implementor: []
`);
    expect(message).toContain('The script demo.yaml cannot be played:');
    expect(message).toContain(
      'line 5, roles.planner[0].turns[0].txt: unknown key "txt"; known here: text, tools, delayMs',
    );
    expect(message).toMatch(/line 7, roles\.planner\[0\]\.turns\[0\]\.tools\[0\]\.name: .*"read".*"finish"/);
    expect(message).toContain(
      'line 9, roles.implementor: unknown key "implementor"; known here: planner, plan-reply, implementer, validator',
    );
  });

  it('names the line of YAML that cannot be read', () => {
    expect(faultsOf('name: demo\nroles:\n  planner: [\n  x: }\n')).toMatch(/demo\.yaml cannot be played:\n {2}line \d/);
    expect(faultsOf('name: demo\nname: again\nroles: {}\n')).toContain('line 2: Map keys must be unique');
  });

  it('refuses a file that holds no script at all', () => {
    expect(faultsOf('')).toContain('line 1: ');
    expect(faultsOf('- a\n- b\n')).toContain('line 1: ');
  });

  it('refuses a turn without content, and a call that would never end', () => {
    expect(faultsOf('name: a\nroles:\n  planner:\n    - turns:\n        - delayMs: 5\n')).toContain(
      'a turn needs `text`, `tools` or both',
    );
    const message = faultsOf(
      'name: a\nroles:\n  planner:\n    - turns:\n        - tools: [{ name: list, input: {} }]\n',
    );
    expect(message).toContain('line 5, roles.planner[0].turns: the last turn has to call `finish` or `ask`');
    expect(faultsOf('name: a\nroles:\n  planner:\n    - turns: [{ text: done }]\n')).toContain(
      'the last turn has to call `finish` or `ask`',
    );
  });

  it('names what the result of a role lacks, with its line', () => {
    const message = faultsOf(
      'name: a\nroles:\n  validator:\n    - turns:\n        - tools: [{ name: finish, input: { verdict: pass } }]\n',
    );
    expect(message).toContain('line 5, roles.validator[0].turns[0].tools[0].input.summary');
  });
});

describe('findScriptCall', () => {
  it('plays the calls of a role by number', async () => {
    const script = await fixture();
    expect(findScriptCall(script, 'implementer', 1, '')?.turns).toHaveLength(1);
    expect(findScriptCall(script, 'implementer', 2, '')?.turns).toHaveLength(4);
    expect(findScriptCall(script, 'implementer', 3, '')).toBeUndefined();
  });

  it('prefers a call whose condition holds, whatever the number', async () => {
    const script = await fixture();
    const rejected = 'From a person, feedback on the last result: no';
    expect(findScriptCall(script, 'planner', 7, rejected)?.turns[0]?.tools?.[0]?.input['title']).toBe(
      'Add a better greeting',
    );
    expect(findScriptCall(script, 'planner', 2, 'nothing of note')).toBeUndefined();
  });

  it('does not count calls with a condition among the numbered ones', () => {
    const call = (text: string, when?: string) =>
      `    - ${when === undefined ? '' : `when: ${when}\n      `}turns: [{ text: ${text}, tools: [{ name: finish, input: { reply: so it is } }] }]\n`;
    const script = parseScript(
      `name: a\nroles:\n  plan-reply:\n${call('first')}${call('third', '{ call: 3 }')}${call('second')}`,
      'a.yaml',
    );
    expect([1, 2, 3, 4].map((number) => findScriptCall(script, 'plan-reply', number, '')?.turns[0]?.text)).toEqual([
      'first',
      'second',
      'third',
      undefined,
    ]);
  });
});
