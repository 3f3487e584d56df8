/** Placeholder for a part of the page that could not be loaded. */
import { Component, type ReactNode } from 'react';
import { messageOf } from '../hosts/messages.ts';

interface LoadFailureProps {
  /** Another one is tried anew. */
  readonly of: unknown;
  readonly children: ReactNode;
}

/** Stands for whatever throws inside of it. The browser remembers a script that failed: only a new page asks for it again. */
export class LoadFailure extends Component<LoadFailureProps, { readonly failure: unknown }> {
  override readonly state: { readonly failure: unknown } = { failure: null };

  static getDerivedStateFromError(failure: unknown): { readonly failure: unknown } {
    return { failure };
  }

  override componentDidUpdate(before: LoadFailureProps): void {
    if (before.of !== this.props.of && this.state.failure !== null) this.setState({ failure: null });
  }

  override render(): ReactNode {
    const { failure } = this.state;
    if (failure === null) return this.props.children;
    return (
      <p className="fault" role="alert">
        This screen could not be shown: {messageOf(failure)}{' '}
        <button type="button" className="link" onClick={() => globalThis.location.reload()}>
          Load the page again
        </button>
      </p>
    );
  }
}
