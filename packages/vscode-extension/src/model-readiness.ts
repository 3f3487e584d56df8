/** Whether the connected server has a model to work with, for welcome views and the walkthrough. */
import type { Client } from '@autonomous/shared/client';
import type { ModelKeys } from './model-keys.ts';

export interface ModelReadiness {
  readonly keys: ModelKeys;
  /** `null` before a server has said so. */
  readonly hasModel: boolean | null;
  /** Asks the server; a server that cannot say is taken to have one. */
  look(): Promise<void>;
}

export interface ModelReadinessOptions {
  readonly keys: ModelKeys;
  readonly client: () => Pick<Client, 'getSetup'> | null;
  readonly onChange: (hasModel: boolean) => void;
  readonly onFault: (error: unknown) => void;
}

export function createModelReadiness({ keys, client, onChange, onFault }: ModelReadinessOptions): ModelReadiness {
  let looks = 0;
  let known: boolean | null = null;
  return {
    keys,
    get hasModel() {
      return known;
    },
    async look() {
      const asked = client();
      if (asked === null) return;
      looks += 1;
      const own = looks;
      const hasModel = await asked.getSetup().then(
        ({ isReady }) => isReady,
        (error: unknown) => {
          onFault(error);
          return true;
        },
      );
      if (own !== looks) return;
      known = hasModel;
      onChange(hasModel);
    },
  };
}
