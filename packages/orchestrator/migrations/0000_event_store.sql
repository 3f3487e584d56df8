-- Each migration ends by raising user_version to the number of migrations, so that an older program refuses the file.
-- Times are milliseconds since 1970; columns marked JSON hold JSON text.
CREATE TABLE workflow_runs (
  id TEXT PRIMARY KEY NOT NULL,
  project_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  workflow TEXT NOT NULL,
  exploration_id TEXT,
  branch TEXT NOT NULL,
  config TEXT NOT NULL, -- JSON
  status TEXT NOT NULL,
  current_stage TEXT,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  paused_at INTEGER,
  resumed_at INTEGER,
  completed_at INTEGER,
  updated_at INTEGER NOT NULL,
  original_request TEXT NOT NULL,
  clarification_count INTEGER NOT NULL DEFAULT 0,
  last_sequence INTEGER NOT NULL,
  tip TEXT NOT NULL, -- hash of the last event
  view TEXT NOT NULL -- JSON
);
--> statement-breakpoint
CREATE INDEX workflow_runs_user_id_idx ON workflow_runs (user_id);
--> statement-breakpoint
CREATE INDEX workflow_runs_status_idx ON workflow_runs (status);
--> statement-breakpoint
CREATE INDEX workflow_runs_project_id_idx ON workflow_runs (project_id);
--> statement-breakpoint
CREATE INDEX workflow_runs_exploration_id_idx ON workflow_runs (exploration_id);
--> statement-breakpoint
CREATE INDEX workflow_runs_created_at_idx ON workflow_runs (created_at, id);
--> statement-breakpoint
CREATE TABLE workflow_events (
  position INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  id TEXT NOT NULL,
  workflow_run_id TEXT NOT NULL REFERENCES workflow_runs (id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  type TEXT NOT NULL,
  origin TEXT NOT NULL,
  payload TEXT NOT NULL, -- JSON
  timestamp INTEGER NOT NULL,
  payload_hash TEXT NOT NULL,
  hash TEXT NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX workflow_events_id_idx ON workflow_events (id);
--> statement-breakpoint
CREATE INDEX workflow_events_workflow_run_id_idx ON workflow_events (workflow_run_id);
--> statement-breakpoint
CREATE UNIQUE INDEX workflow_events_sequence_idx ON workflow_events (workflow_run_id, sequence);
--> statement-breakpoint
CREATE TABLE clarification_requests (
  id TEXT PRIMARY KEY NOT NULL,
  workflow_run_id TEXT NOT NULL REFERENCES workflow_runs (id) ON DELETE CASCADE,
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
);
--> statement-breakpoint
CREATE INDEX clarification_requests_workflow_run_id_idx ON clarification_requests (workflow_run_id);
--> statement-breakpoint
CREATE INDEX clarification_requests_status_idx ON clarification_requests (status);
--> statement-breakpoint
CREATE TABLE activities (
  key TEXT PRIMARY KEY NOT NULL,
  run_id TEXT NOT NULL REFERENCES workflow_runs (id) ON DELETE CASCADE,
  activity TEXT NOT NULL,
  src TEXT NOT NULL,
  input TEXT NOT NULL, -- JSON
  started_at INTEGER NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER
);
--> statement-breakpoint
CREATE INDEX activities_run_id_idx ON activities (run_id);
--> statement-breakpoint
CREATE TABLE timers (
  key TEXT PRIMARY KEY NOT NULL,
  run_id TEXT NOT NULL REFERENCES workflow_runs (id) ON DELETE CASCADE,
  event TEXT NOT NULL,
  due_at INTEGER NOT NULL
);
--> statement-breakpoint
CREATE INDEX timers_run_id_idx ON timers (run_id);
--> statement-breakpoint
CREATE INDEX timers_due_at_idx ON timers (due_at);
--> statement-breakpoint
CREATE TABLE snapshots (
  run_id TEXT PRIMARY KEY NOT NULL REFERENCES workflow_runs (id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  data TEXT NOT NULL -- JSON
);
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
CREATE TABLE marks (
  name TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL
);
--> statement-breakpoint
PRAGMA user_version = 1;
