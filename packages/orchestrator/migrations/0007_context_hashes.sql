-- Hashes of the fields of the context that a step changed: a replay that gives another context is noticed. They are no part
-- of the hash chain, and steps of before have none.
ALTER TABLE workflow_steps ADD COLUMN context TEXT; -- JSON: { field: hash of what changed in it }
--> statement-breakpoint
PRAGMA user_version = 7;
