/**
 * Loads the data of a screen: once, and again when the run changes. The old data stays visible until the new data is
 * there.
 */
import { useSelector } from '@xstate/store-react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useHost } from '../hosts/host.ts';
import { messageOf } from '../hosts/messages.ts';

export interface Loaded<Value> {
  readonly value: Value | null;
  /** The value belongs to an earlier key: the one of this key is under way, or could not be had. */
  readonly isOld: boolean;
  readonly fault: string | null;
  readonly isLoading: boolean;
  readonly again: () => void;
}

/** @param key what the value depends on; another key loads it anew, `null` loads nothing */
export function useLoaded<Value>(key: string | null, load: () => Promise<Value>): Loaded<Value> {
  const [tries, setTries] = useState(0);
  const [{ of, value, fault }, setState] = useState<{
    /** The key of the value. */
    readonly of: string | null;
    readonly value: Value | null;
    readonly fault: string | null;
  }>({ of: null, value: null, fault: null });
  const [isLoading, setLoading] = useState(key !== null);
  useEffect(() => {
    if (key === null) return undefined;
    let isOver = false;
    setLoading(true);
    load().then(
      (loaded) => {
        if (isOver) return;
        setState({ of: key, value: loaded, fault: null });
        setLoading(false);
      },
      (error: unknown) => {
        if (isOver) return;
        setState((before) => ({ ...before, fault: messageOf(error) }));
        setLoading(false);
      },
    );
    return () => {
      isOver = true;
    };
    // The key names everything that `load` depends on.
  }, [key, tries]);
  const again = useCallback(() => setTries((count) => count + 1), []);
  return { value, fault, isOld: value !== null && of !== key, isLoading, again };
}

/**
 * Shows what was loaded, or that it is under way, or why it is not there and the way out.
 * @param isDecided people decide about it: where it is older than what the run has now, that is said
 */
export function Loading<Value>({
  of,
  what,
  isDecided = false,
  children,
}: {
  readonly of: Loaded<Value>;
  readonly what: string;
  readonly isDecided?: boolean;
  readonly children: (value: Value) => React.ReactNode;
}) {
  if (of.value !== null) {
    return (
      <>
        {of.fault !== null && (
          <Refusal message={`${what} could not be fetched again: ${of.fault}`} onRetry={of.again} />
        )}
        {isDecided && of.isOld && (
          <p className="fault" role="alert">
            This is older than what you decide about. {of.fault === null && 'The newer is being fetched…'}
          </p>
        )}
        {children(of.value)}
      </>
    );
  }
  if (of.fault !== null) return <Refusal message={`${what} could not be fetched: ${of.fault}`} onRetry={of.again} />;
  return <Waiting what={what} onRetry={of.again} />;
}

const SLOW_AFTER_MS = 10_000;

function Waiting({ what, onRetry }: { readonly what: string; readonly onRetry: () => void }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), SLOW_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p className="quiet loading" role="status">
      <vscode-progress-ring aria-hidden="true" /> Fetching {what.toLowerCase()}…
      {isSlow && (
        <vscode-button secondary onClick={onRetry}>
          Try again
        </vscode-button>
      )}
    </p>
  );
}

function Refusal({ message, onRetry }: { readonly message: string; readonly onRetry: () => void }) {
  const { place } = useHost();
  const isAway = useSelector(place, ({ context }) => context.news !== null);
  const wasAway = useRef(isAway);
  // Data that could not be loaded while the server was away is loaded again.
  useEffect(() => {
    if (wasAway.current && !isAway) onRetry();
    wasAway.current = isAway;
  }, [isAway, onRetry]);
  return (
    <p className="fault" role="alert">
      {message}{' '}
      <vscode-button secondary onClick={onRetry}>
        Try again
      </vscode-button>
    </p>
  );
}
