-- One row a step instead of one an event, runs by number, whole views beside the runs. Only names and times that
-- lists, filters and the start need are columns of a run; no column that changes at every step is in an index.
-- The steps themselves are copied by the program, within the same transaction: their hashes are not SQL's business.
ALTER TABLE workflow_runs RENAME TO old_runs;
--> statement-breakpoint
ALTER TABLE workflow_events RENAME TO old_events;
--> statement-breakpoint
ALTER TABLE clarification_requests RENAME TO old_clarifications;
--> statement-breakpoint
ALTER TABLE activities RENAME TO old_activities;
--> statement-breakpoint
ALTER TABLE timers RENAME TO old_timers;
--> statement-breakpoint
ALTER TABLE snapshots RENAME TO old_snapshots;
--> statement-breakpoint
DROP INDEX clarification_requests_status_idx;
--> statement-breakpoint
DROP INDEX timers_due_at_idx;
--> statement-breakpoint
DROP INDEX workflow_runs_project_id_idx;
--> statement-breakpoint
DROP INDEX workflow_runs_exploration_id_idx;
--> statement-breakpoint
DROP INDEX workflow_runs_created_at_idx;
--> statement-breakpoint
CREATE TABLE workflow_runs (
  number INTEGER PRIMARY KEY NOT NULL,
  id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  workflow TEXT NOT NULL,
  exploration_id TEXT,
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
  hash BLOB NOT NULL -- links the step to its predecessor
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
CREATE TABLE timers (
  key TEXT PRIMARY KEY NOT NULL, -- begins with the run's id and a slash
  run INTEGER NOT NULL,
  event TEXT NOT NULL,
  due_at INTEGER NOT NULL
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
INSERT INTO workflow_runs
SELECT
  rowid, id, project_id, user_id, workflow, exploration_id, created_at, status, current_stage, updated_at,
  iif(status IN ('completed', 'failed', 'cancelled'), coalesce(completed_at, updated_at), NULL),
  last_sequence, coalesce(unhex(tip), zeroblob(32)), NULL, iif(json_valid(view), nullif(view -> 'gate', 'null'), NULL)
FROM old_runs;
--> statement-breakpoint
INSERT INTO activities
SELECT key, run.number, activity, src, input, started_at, max(attempt, 1), max(attempt - 1, 0), not_before, NULL, 0
FROM old_activities JOIN workflow_runs AS run ON run.id = run_id;
--> statement-breakpoint
INSERT INTO timers
SELECT key, run.number, event, due_at FROM old_timers JOIN workflow_runs AS run ON run.id = run_id;
--> statement-breakpoint
INSERT INTO clarification_requests
SELECT
  old.id, run.number, old.stage, question, context, options, response_type, old.status, response, answered_by, answered_at,
  attempt_number, old.created_at
FROM old_clarifications AS old JOIN workflow_runs AS run ON run.id = workflow_run_id;
--> statement-breakpoint
PRAGMA user_version = 2;
