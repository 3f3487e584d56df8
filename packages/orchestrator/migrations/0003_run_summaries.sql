-- What a run spent and where it waited, folded from its events up to `sequence`. Made by who asks for figures, so that
-- no step pays for them; what is missing or of an older version is made anew.
CREATE TABLE run_summaries (
  run INTEGER PRIMARY KEY NOT NULL REFERENCES workflow_runs (number) ON DELETE CASCADE,
  version INTEGER NOT NULL, -- of the fold
  sequence INTEGER NOT NULL, -- of the last event that is in it
  summary TEXT NOT NULL, -- JSON
  hash BLOB NOT NULL -- SHA-256 of the summary
) STRICT;
--> statement-breakpoint
PRAGMA user_version = 4;
