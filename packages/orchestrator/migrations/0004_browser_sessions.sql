-- Browsers that are signed in, by the hash of a secret that they alone have. Until they expire, or somebody ends them.
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
PRAGMA user_version = 5;
