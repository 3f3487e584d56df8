/** Tasks of the processes of the bench `feed`, and their reports. */
import type { Deliveries } from './deliveries.ts';
import type { Step } from './steps.ts';

/** How a server is reached. */
export interface Reached {
  readonly url: string;
  readonly token: string;
}

/** Clients beside the screen: those of the feed, or bare sockets. They stay until they are killed. */
export interface ClientsTask extends Reached {
  readonly clients: number;
  readonly isBare: boolean;
}

export type ClientsReport =
  | { readonly report: 'connected' }
  /** Since the last report: the steps that the first of them heard of, how old each was then, and what all were sent. */
  | {
      readonly report: 'heard';
      readonly steps: readonly Step[];
      readonly agesMs: readonly number[];
      readonly messages: number;
    };

/** Pages and sockets with nothing behind them. It stays until it is killed. */
export interface BareTask {
  readonly runs: number;
  readonly everyMs: number;
}

export interface BareReport {
  readonly report: 'listening';
  readonly url: string;
}

/** Feed clients whose connections are cut while the server works. */
export interface CutsTask extends Reached {
  readonly clients: number;
  readonly cuts: number;
  /** So many runs take a step so often meanwhile. */
  readonly runs: number;
  readonly everyMs: number;
}

export type CutsReport =
  | { readonly report: 'cut'; readonly cuts: number }
  | ({
      readonly report: 'compared';
      /** Connections that were cut while a client was on them. */
      readonly cuts: number;
    } & Deliveries);

export type FaceTask =
  /** Is there a browser? */
  | { readonly task: 'look' }
  /** A page that shows steps: which, and when they were painted. */
  | { readonly task: 'screen'; readonly address: string; readonly warmUpS: number; readonly seconds: number }
  /** Opens the list of runs: for the first time with each link that signs in, or with none, then again and again. */
  | {
      readonly task: 'list';
      readonly links: readonly (string | null)[];
      readonly address: string;
      readonly visits: number;
    }
  /** Opens windows of VS Code with the packaged extension. */
  | ({ readonly task: 'activation'; readonly starts: number } & Reached);

export type FaceReport =
  /** It goes on. */
  | { readonly report: 'working' }
  | { readonly report: 'looked'; readonly hasChromium: boolean }
  | { readonly report: 'painted'; readonly steps: readonly Step[]; readonly until: number }
  | {
      readonly report: 'listed';
      /** Milliseconds from the navigation to the first painted rows. */
      readonly firstMs: readonly number[];
      readonly againMs: readonly number[];
    }
  | {
      readonly report: 'activated';
      readonly activationMs: readonly number[];
      /** Of the editor's own extensions in the same windows, by the same clock. */
      readonly others: Readonly<Record<string, readonly number[]>>;
      /** Files of scripts that a web view asked for. */
      readonly webViewScripts: number;
    };
