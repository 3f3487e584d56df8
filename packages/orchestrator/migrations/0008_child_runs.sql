-- The run that started a child run: who waits for which runs, and what has to be cancelled with them.
ALTER TABLE workflow_runs ADD COLUMN parent_id TEXT;
--> statement-breakpoint
CREATE INDEX workflow_runs_parent_id_idx ON workflow_runs (parent_id) WHERE parent_id IS NOT NULL;
--> statement-breakpoint
PRAGMA user_version = 8;
