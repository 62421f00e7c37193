-- Messages to people: each to one recipient by one channel, and how far it has come.
CREATE TABLE deliveries (
    id          bigint  PRIMARY KEY,
    action      bytea   NOT NULL CHECK (length(action) = 16),
    version     bigint  NOT NULL CHECK (version >= 1),
    purpose     text    COLLATE "C" NOT NULL CHECK (purpose IN ('ask', 'again', 'escalated', 'told', 'settled')),
    -- What tells apart two of one purpose: the number of a reminder, the message that is updated.
    round       bigint  NOT NULL,
    channel     text    COLLATE "C" NOT NULL CHECK (channel <> ''),
    recipient   text    COLLATE "C" NOT NULL CHECK (recipient <> ''),
    status      text    COLLATE "C" NOT NULL
        CHECK (status IN ('queued', 'retrying', 'sent', 'delivered', 'failed', 'skipped')),
    attempt     bigint  NOT NULL CHECK (attempt >= 0),
    next_at     bigint,
    -- The first delivery of the message that it went with.
    message     bigint,
    provider_id text,
    error       text,
    created_at  bigint  NOT NULL,
    updated_at  bigint  NOT NULL,
    -- Until when one node has it in hand, by the database's clock.
    taken_until timestamptz NOT NULL DEFAULT '-infinity',
    UNIQUE (action, version, purpose, round, channel, recipient),
    CHECK ((next_at IS NOT NULL) = (status IN ('queued', 'retrying'))),
    CHECK ((message IS NOT NULL) = (status IN ('sent', 'delivered')))
);
CREATE INDEX deliveries_due        ON deliveries (channel, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_by_status  ON deliveries (status, id);
CREATE INDEX deliveries_by_message ON deliveries (message) WHERE message IS NOT NULL;
-- How much someone was told lately.
CREATE INDEX deliveries_told ON deliveries (channel, recipient, updated_at) WHERE message IS NOT NULL;

-- Calls of the agent's side, one for each action that asked for it and was resolved.
CREATE TABLE jobs (
    id          bigint PRIMARY KEY,
    action      bytea  NOT NULL UNIQUE CHECK (length(action) = 16),
    status      text   COLLATE "C" NOT NULL CHECK (status IN ('waiting', 'done', 'dead', 'dropped')),
    attempt     bigint NOT NULL CHECK (attempt >= 0),
    next_at     bigint,
    error       text,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    taken_until timestamptz NOT NULL DEFAULT '-infinity',
    CHECK ((next_at IS NOT NULL) = (status = 'waiting'))
);
CREATE INDEX jobs_due       ON jobs (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX jobs_by_status ON jobs (status, id);

-- How far the log has been read by those who act on it.
CREATE TABLE log_readers (
    reader text   COLLATE "C" PRIMARY KEY,
    seq    bigint NOT NULL CHECK (seq >= 0)
);

-- What providers told us and may tell again, by the SHA-256 of the channel's name and theirs.
CREATE TABLE seen_events (
    id      bytea  PRIMARY KEY CHECK (length(id) = 32),
    channel text   NOT NULL,
    event   text   NOT NULL,
    at      bigint NOT NULL
);
CREATE INDEX seen_events_by_age ON seen_events (at);
