-- Requests with an idempotency key that made a step: stored with that step, so that a request which is repeated after a
-- crash finds what it did. Answers that were sent are in `idempotency_keys`.
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
-- Timers that are due at once fire in the order of their steps, and within a step in the order in which they were armed.
ALTER TABLE timers ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
PRAGMA user_version = 6;
