-- People, by what they can show to prove that it is them. Nothing in it lets anyone in who reads it.
CREATE TABLE people (
    id       bytea PRIMARY KEY CHECK (length(id) = 16),
    name     text  COLLATE "C" NOT NULL UNIQUE CHECK (name <> ''),
    kind     text  NOT NULL CHECK (kind IN ('reviewer', 'admin')),
    standing text  NOT NULL CHECK (standing IN ('active', 'locked', 'removed')),
    body     text  NOT NULL
);
CREATE TRIGGER people_are_never_removed BEFORE DELETE ON people
    FOR EACH ROW EXECUTE FUNCTION refuse('people are never removed: their names stay taken');

-- What works once and was used, until it would have ended anyway.
CREATE TABLE spent (
    key   bytea  PRIMARY KEY CHECK (length(key) = 32),
    until bigint NOT NULL
);

-- Browsers that signed in: how. Agents have none.
ALTER TABLE credentials ADD COLUMN session text
    CHECK (session IS NULL OR (kind <> 'agent' AND expires_at IS NOT NULL));
