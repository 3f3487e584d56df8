-- One file a schema, numbered on from the one before: the next one is 0010, with a line in meta/_journal.json. A file that a
-- release has named is never changed. Times are milliseconds since 1970; columns marked JSON hold JSON text.
-- Only names and times that lists, filters and the start need are columns of a run, and no column that changes at every
-- step is in an index.
CREATE TABLE workflow_runs (
  number INTEGER PRIMARY KEY NOT NULL,
  id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  workflow TEXT NOT NULL,
  exploration_id TEXT,
  tree_id TEXT, -- run family of a fork: its runs share budgets
  parent_id TEXT, -- run that started a child run
  created_at INTEGER NOT NULL,
  status TEXT NOT NULL,
  stage TEXT,
  updated_at INTEGER NOT NULL,
  completed_at INTEGER, -- NULL while the run is open
  last_sequence INTEGER NOT NULL,
  tip BLOB NOT NULL, -- hash of the last step
  archived_sequence INTEGER, -- the events up to it are in archived_steps
  gate TEXT -- JSON; what a person is asked
) STRICT;
--> statement-breakpoint
CREATE INDEX workflow_runs_created_at_idx ON workflow_runs (created_at);
--> statement-breakpoint
CREATE INDEX workflow_runs_project_id_idx ON workflow_runs (project_id, created_at);
--> statement-breakpoint
CREATE INDEX workflow_runs_exploration_id_idx ON workflow_runs (exploration_id, created_at) WHERE exploration_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX workflow_runs_tree_id_idx ON workflow_runs (tree_id) WHERE tree_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX workflow_runs_parent_id_idx ON workflow_runs (parent_id) WHERE parent_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX workflow_runs_open_idx ON workflow_runs (created_at) WHERE completed_at IS NULL;
--> statement-breakpoint
CREATE INDEX workflow_runs_final_idx ON workflow_runs (status, created_at) WHERE completed_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX workflow_runs_archive_idx ON workflow_runs (completed_at) WHERE completed_at IS NOT NULL AND archived_sequence IS NULL;
--> statement-breakpoint
CREATE TABLE workflow_steps (
  position INTEGER PRIMARY KEY NOT NULL, -- of the step's last event, over all runs
  run INTEGER NOT NULL, -- number of the run
  sequence INTEGER NOT NULL, -- of the step's last event, within the run
  at INTEGER NOT NULL,
  events TEXT NOT NULL, -- JSON: [[type, 0 input | 1 emitted, payload, time where it is not `at` or 0, 1 when the payload was erased], ...]
  hashes BLOB NOT NULL, -- SHA-256 of each payload's JSON
  hash BLOB NOT NULL, -- links the step to its predecessor
  context TEXT -- JSON: { field: hash of what the step changed in it }; NULL where no machine took the step
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX workflow_steps_sequence_idx ON workflow_steps (run, sequence);
--> statement-breakpoint
CREATE VIEW workflow_events AS
SELECT
  step.position - json_array_length(step.events) + 1 + event.key AS position,
  run.id || '.' || (step.sequence - json_array_length(step.events) + 1 + event.key) AS id,
  run.id AS workflow_run_id,
  step.sequence - json_array_length(step.events) + 1 + event.key AS sequence,
  event.value ->> 0 AS type,
  iif(event.value ->> 1, 'emitted', 'input') AS origin,
  event.value -> 2 AS payload,
  strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(nullif(event.value ->> 3, 0), step.at) / 1000.0, 'unixepoch') AS timestamp
FROM workflow_steps AS step JOIN workflow_runs AS run ON run.number = step.run, json_each(step.events) AS event
WHERE json_valid(step.events);
--> statement-breakpoint
CREATE TABLE archived_steps (
  run INTEGER PRIMARY KEY NOT NULL REFERENCES workflow_runs (number),
  position INTEGER NOT NULL, -- of the last event
  sequence INTEGER NOT NULL, -- of the last event
  steps BLOB NOT NULL -- Zstandard over JSON: [[position, sequence, at, events, hashes and hash in base64], ...]
) STRICT;
--> statement-breakpoint
CREATE TABLE run_views (
  run INTEGER PRIMARY KEY NOT NULL REFERENCES workflow_runs (number),
  sequence INTEGER NOT NULL,
  view TEXT NOT NULL, -- JSON
  hash BLOB NOT NULL -- SHA-256 of the view
) STRICT;
--> statement-breakpoint
-- What a run spent and where it waited, folded from its events up to `sequence` when figures are asked for, so that no step
-- pays for them. A row that is missing or of another version of the fold is made anew.
CREATE TABLE run_summaries (
  run INTEGER PRIMARY KEY NOT NULL REFERENCES workflow_runs (number) ON DELETE CASCADE,
  version INTEGER NOT NULL, -- of the fold
  sequence INTEGER NOT NULL, -- of the last event that is in it
  summary TEXT NOT NULL, -- JSON
  hash BLOB NOT NULL -- SHA-256 of the summary
) STRICT;
--> statement-breakpoint
CREATE TABLE snapshots (
  run INTEGER PRIMARY KEY NOT NULL REFERENCES workflow_runs (number),
  sequence INTEGER NOT NULL,
  data TEXT NOT NULL, -- JSON
  hash BLOB NOT NULL -- SHA-256 of the data
) STRICT;
--> statement-breakpoint
CREATE TABLE activities (
  key TEXT PRIMARY KEY NOT NULL, -- begins with the run's id and a slash
  run INTEGER NOT NULL,
  activity TEXT NOT NULL,
  src TEXT NOT NULL,
  input TEXT NOT NULL, -- JSON
  started_at INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  not_before INTEGER,
  heartbeat TEXT, -- JSON
  epoch INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
-- Timers that are due at once fire in the order of their steps, and within a step in the order in which they were armed.
CREATE TABLE timers (
  key TEXT PRIMARY KEY NOT NULL, -- begins with the run's id and a slash
  run INTEGER NOT NULL,
  event TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  place INTEGER NOT NULL -- within the step
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX timers_due_at_idx ON timers (due_at);
--> statement-breakpoint
CREATE TABLE clarification_requests (
  id TEXT PRIMARY KEY NOT NULL,
  run INTEGER NOT NULL REFERENCES workflow_runs (number),
  stage TEXT NOT NULL,
  question TEXT NOT NULL,
  context TEXT NOT NULL,
  options TEXT, -- JSON
  response_type TEXT NOT NULL,
  status TEXT NOT NULL,
  response TEXT,
  answered_by TEXT,
  answered_at INTEGER,
  attempt_number INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX clarification_requests_status_idx ON clarification_requests (status, created_at);
--> statement-breakpoint
CREATE TABLE projects (
  id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  repository TEXT NOT NULL,
  base_branch TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX projects_repository_name_idx ON projects (repository, name);
--> statement-breakpoint
CREATE INDEX projects_created_at_idx ON projects (created_at, id);
--> statement-breakpoint
-- Answers that were sent to requests with an idempotency key.
CREATE TABLE idempotency_keys (
  key TEXT PRIMARY KEY NOT NULL,
  request_hash TEXT NOT NULL,
  status INTEGER NOT NULL,
  body TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
--> statement-breakpoint
CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at);
--> statement-breakpoint
-- Requests with an idempotency key that made a step: stored with that step, so that a request which is repeated after a
-- crash finds what it did.
CREATE TABLE request_steps (
  key TEXT PRIMARY KEY NOT NULL,
  request_hash TEXT NOT NULL, -- of the request's address and body
  run INTEGER NOT NULL,
  sequence INTEGER NOT NULL, -- of the step's last event
  gate TEXT, -- id of the gate that it decided
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX request_steps_created_at_idx ON request_steps (created_at);
--> statement-breakpoint
-- Browsers that are signed in, by the hash of a secret that they alone have, until they expire or somebody ends them.
CREATE TABLE browser_sessions (
  hash TEXT PRIMARY KEY NOT NULL,
  user_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX browser_sessions_user_id_idx ON browser_sessions (user_id, expires_at);
--> statement-breakpoint
CREATE INDEX browser_sessions_expires_at_idx ON browser_sessions (expires_at);
--> statement-breakpoint
CREATE TABLE marks (
  name TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL
);
