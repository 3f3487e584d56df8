import { describe, expect, it } from 'vitest';
import { SERVER_VARIABLES } from '../config.ts';
import { misspeltVariables } from './misspelt-variables.ts';

describe('misspelt variables', () => {
  it.each([
    ['AUTONOMOUS_TOKN', 'AUTONOMOUS_TOKEN'],
    ['ORCHESTRATOR_PUBLICURL', 'ORCHESTRATOR_PUBLIC_URL'],
    ['BLOCKED_LIMIT_SECOND', 'BLOCKED_LIMIT_SECONDS'],
    ['SANDBOX_MEMORY_MBS', 'SANDBOX_MEMORY_MB'],
    ['LIMIT_MAX_TOKEN', 'LIMIT_MAX_TOKENS'],
  ])('names %s with %s, the nearest one', (name, nearest) => {
    expect(misspeltVariables([name])).toEqual([
      `The variable ${name} is set, and Autonomous has none of this name: it is not used. Was ${nearest} meant?`,
    ]);
  });

  it('names one with a prefix of the product that is like none of its variables', () => {
    expect(misspeltVariables(['AUTONOMOUS_GREETING'])).toEqual([
      'The variable AUTONOMOUS_GREETING is set, and Autonomous has none of this name: it is not used. The file .env.example lists the variables of the server.',
    ]);
  });

  it('leaves alone what the server knows, its other programs read, and others own', () => {
    expect(
      misspeltVariables([
        ...Object.keys(SERVER_VARIABLES),
        'AUTONOMOUS_SERVER',
        'AUTONOMOUS_CWD',
        'GITHUB_TOKENS',
        'GITHUB_REF_NAME',
        'OPENAI_API_BASE',
        'DATABASE_URI',
        'LOGLEVEL',
        'DEFAULT_REGION',
        'MAX_OLD_SPACE',
        'MODEL_NAME',
        'WEB_CONCURRENCY',
        'PATH',
      ]),
    ).toEqual([]);
  });
});
