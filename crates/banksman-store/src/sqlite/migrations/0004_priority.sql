-- How soon people should look, from 0 to 100, as triage says. Most have none, and cost nothing.
ALTER TABLE actions ADD COLUMN priority INTEGER NOT NULL DEFAULT 0 CHECK (priority >= 0 AND priority <= 100);
CREATE INDEX pending_by_priority ON actions (priority DESC, id) WHERE status = 'pending' AND priority > 0;
