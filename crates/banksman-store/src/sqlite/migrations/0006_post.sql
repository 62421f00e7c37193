-- Messages to people: each to one recipient by one channel, and how far it has come.
CREATE TABLE deliveries (
    id          INTEGER PRIMARY KEY,
    action      BLOB    NOT NULL CHECK (length(action) = 16),
    version     INTEGER NOT NULL CHECK (version >= 1),
    purpose     TEXT    NOT NULL CHECK (purpose IN ('ask', 'again', 'escalated', 'told', 'settled')),
    -- What tells apart two of one purpose: the number of a reminder, the message that is updated.
    round       INTEGER NOT NULL,
    channel     TEXT    NOT NULL CHECK (channel <> ''),
    recipient   TEXT    NOT NULL CHECK (recipient <> ''),
    status      TEXT    NOT NULL
        CHECK (status IN ('queued', 'retrying', 'sent', 'delivered', 'failed', 'skipped')),
    attempt     INTEGER NOT NULL CHECK (attempt >= 0),
    next_at     INTEGER,
    -- The first delivery of the message that it went with.
    message     INTEGER,
    provider_id TEXT,
    error       TEXT,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    UNIQUE (action, version, purpose, round, channel, recipient),
    CHECK ((next_at IS NOT NULL) = (status IN ('queued', 'retrying'))),
    CHECK ((message IS NOT NULL) = (status IN ('sent', 'delivered')))
) STRICT;
CREATE INDEX deliveries_due        ON deliveries (channel, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_by_status  ON deliveries (status, id);
CREATE INDEX deliveries_by_message ON deliveries (message) WHERE message IS NOT NULL;
-- How much someone was told lately.
CREATE INDEX deliveries_told ON deliveries (channel, recipient, updated_at) WHERE message IS NOT NULL;

-- Calls of the agent's side, one for each action that asked for it and was resolved.
CREATE TABLE jobs (
    id         INTEGER PRIMARY KEY,
    action     BLOB    NOT NULL UNIQUE CHECK (length(action) = 16),
    status     TEXT    NOT NULL CHECK (status IN ('waiting', 'done', 'dead', 'dropped')),
    attempt    INTEGER NOT NULL CHECK (attempt >= 0),
    next_at    INTEGER,
    error      TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK ((next_at IS NOT NULL) = (status = 'waiting'))
) STRICT;
CREATE INDEX jobs_due       ON jobs (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX jobs_by_status ON jobs (status, id);

-- How far the log has been read by those who act on it.
CREATE TABLE log_readers (
    reader TEXT    PRIMARY KEY,
    seq    INTEGER NOT NULL CHECK (seq >= 0)
) STRICT, WITHOUT ROWID;

-- What providers told us and may tell again.
CREATE TABLE seen_events (
    channel TEXT    NOT NULL,
    event   TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (channel, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX seen_events_by_age ON seen_events (at);
