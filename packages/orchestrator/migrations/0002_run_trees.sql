-- Which run tree a fork belongs to: runs of a tree share budgets.
ALTER TABLE workflow_runs ADD COLUMN tree_id TEXT;
--> statement-breakpoint
CREATE INDEX workflow_runs_tree_id_idx ON workflow_runs (tree_id) WHERE tree_id IS NOT NULL;
--> statement-breakpoint
PRAGMA user_version = 3;
