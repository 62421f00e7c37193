-- People, by what they can show to prove that it is them. Nothing in it lets anyone in who reads it.
CREATE TABLE people (
    id       BLOB PRIMARY KEY CHECK (length(id) = 16),
    name     TEXT NOT NULL UNIQUE CHECK (name <> ''),
    kind     TEXT NOT NULL CHECK (kind IN ('reviewer', 'admin')),
    standing TEXT NOT NULL CHECK (standing IN ('active', 'locked', 'removed')),
    body     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER people_are_never_removed BEFORE DELETE ON people
BEGIN SELECT RAISE(ABORT, 'people are never removed: their names stay taken'); END;

-- What works once and was used, until it would have ended anyway.
CREATE TABLE spent (
    key   BLOB    PRIMARY KEY CHECK (length(key) = 32),
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Browsers that signed in: how. Agents have none.
ALTER TABLE credentials ADD COLUMN session TEXT CHECK (session IS NULL OR (kind <> 'agent' AND expires_at IS NOT NULL));
