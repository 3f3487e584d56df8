/** The editor's own widgets as custom elements, and what JSX may say of those that are used. */
import '@vscode-elements/elements/dist/vscode-badge/index.js';
import '@vscode-elements/elements/dist/vscode-textfield/index.js';
import type { Attributes, HTMLAttributes, Ref } from 'react';

export interface Widget extends HTMLAttributes<HTMLElement>, Attributes {
  readonly ref?: Ref<HTMLElement>;
  readonly disabled?: boolean;
}

export interface Field extends Widget {
  readonly value?: string;
  readonly placeholder?: string;
  readonly name?: string;
  readonly label?: string;
  readonly required?: boolean;
  // React hands `on…` of a custom element to addEventListener as it is written.
  readonly oninput?: (event: Event) => void;
  readonly onchange?: (event: Event) => void;
}

declare module 'react' {
  // oxlint-disable-next-line typescript/no-namespace -- the one way to tell JSX of elements
  namespace JSX {
    interface IntrinsicElements {
      'vscode-badge': Widget & { readonly variant?: 'default' | 'counter' | 'activity-bar-counter' };
      'vscode-button': Widget & { readonly secondary?: boolean; readonly icon?: string };
      'vscode-checkbox': Field & { readonly checked?: boolean };
      'vscode-option': Widget & { readonly value?: string; readonly selected?: boolean };
      'vscode-progress-ring': Widget;
      'vscode-single-select': Field;
      'vscode-textarea': Field & { readonly rows?: number; readonly resize?: 'both' | 'vertical' | 'none' };
      'vscode-textfield': Field & { readonly type?: 'text' | 'number' };
    }
  }
}

/** Returns the text of the field that sent an event. */
export function valueOf(event: Event): string {
  return (event.target as unknown as { readonly value: string }).value;
}
