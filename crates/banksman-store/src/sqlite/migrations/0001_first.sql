-- The house rules that hold at once: one row, whose epoch every proposal, approval and claim guards.
CREATE TABLE control (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL,
    mode  TEXT    NOT NULL CHECK (mode IN ('lab', 'shadow', 'production'))
) STRICT;
INSERT INTO control (one, epoch, mode) VALUES (1, 1, 'production');

CREATE TABLE freezes (
    id   BLOB PRIMARY KEY CHECK (length(id) = 16),
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE grants (
    id         BLOB    PRIMARY KEY CHECK (length(id) = 16),
    expires_at INTEGER NOT NULL,
    body       TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may come in. Only the SHA-256 of a secret is kept.
CREATE TABLE credentials (
    id          BLOB    PRIMARY KEY CHECK (length(id) = 16),
    secret_hash BLOB    NOT NULL UNIQUE CHECK (length(secret_hash) = 32),
    kind        TEXT    NOT NULL CHECK (kind IN ('agent', 'reviewer', 'admin')),
    name        TEXT    NOT NULL CHECK (name <> ''),
    owner       TEXT,
    roles       TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER,
    CHECK (owner IS NULL OR kind = 'agent')
) STRICT, WITHOUT ROWID;

-- Where each action stands. What would run is kept apart, in submissions.
--
-- The conditions are chains of OR on purpose: for IN with more than two values SQLite fills a temporary table each
-- time it checks one, which cost more than the rest of a commit. Triggers on UPDATE do the same to the update itself.
CREATE TABLE actions (
    id         BLOB    PRIMARY KEY CHECK (length(id) = 16),
    agent      TEXT    NOT NULL,
    owner      TEXT,
    tool       TEXT    NOT NULL,
    tier       TEXT    NOT NULL CHECK (tier = 'auto' OR tier = 'notify' OR tier = 'approve' OR tier = 'escalate'
                                            OR tier = 'block'),
    status     TEXT    NOT NULL,
    digest     BLOB    NOT NULL CHECK (length(digest) = 32),
    version    INTEGER NOT NULL CHECK (version >= 1),
    revision   INTEGER NOT NULL CHECK (revision >= version),
    batch      BLOB    CHECK (length(batch) = 16),
    created_at INTEGER NOT NULL,
    -- When time itself moves the action on: the deadline, the lapse or the end of the lease.
    wake_at    INTEGER,
    -- Whether the same proposal, sent again, joins this one.
    joinable   INTEGER NOT NULL CHECK (joinable IN (0, 1)),
    claimed_at INTEGER,
    reviews    TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    CHECK (status = 'blocked' OR status = 'pending' OR status = 'authorised' OR status = 'denied'
        OR status = 'expired' OR status = 'cancelled' OR status = 'executing' OR status = 'succeeded'
        OR status = 'failed' OR status = 'unknown' OR status = 'lapsed' OR status = 'revoked'),
    CHECK ((wake_at IS NOT NULL) = (status = 'pending' OR status = 'authorised' OR status = 'executing')),
    CHECK ((claimed_at IS NOT NULL) = (status = 'executing' OR status = 'succeeded' OR status = 'failed'
                                       OR status = 'unknown')),
    CHECK (joinable = 0 OR status = 'pending' OR status = 'authorised'),
    CHECK (status <> 'pending' OR tier = 'approve' OR tier = 'escalate'),
    CHECK (tier <> 'block' OR status = 'blocked')
) STRICT, WITHOUT ROWID;

CREATE TRIGGER actions_are_never_removed BEFORE DELETE ON actions
BEGIN SELECT RAISE(ABORT, 'actions are never removed'); END;

-- What people ask for all day; a million pending rows must not slow any of it down.
CREATE INDEX open_by_status   ON actions (status, id)
    WHERE status = 'pending' OR status = 'authorised' OR status = 'executing' OR status = 'unknown';
CREATE INDEX pending_by_tier  ON actions (tier, id)   WHERE status = 'pending';
CREATE INDEX pending_by_tool  ON actions (tool, id)   WHERE status = 'pending';
CREATE INDEX pending_by_agent ON actions (agent, id)  WHERE status = 'pending';
CREATE INDEX due              ON actions (wake_at)    WHERE wake_at IS NOT NULL;
CREATE UNIQUE INDEX one_joinable ON actions (agent, digest) WHERE joinable = 1;

-- What would run, version by version, with what assessing and judging it gave.
CREATE TABLE submissions (
    action  BLOB    NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (action, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE batches (
    id         BLOB    PRIMARY KEY CHECK (length(id) = 16),
    agent      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    items      BLOB    NOT NULL CHECK (length(items) % 16 = 0)
) STRICT, WITHOUT ROWID;

-- Requests that may be sent again.
CREATE TABLE idempotency_keys (
    agent      TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    request    BLOB    NOT NULL CHECK (length(request) = 32),
    action     BLOB    NOT NULL CHECK (length(action) = 16),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (agent, key)
) STRICT, WITHOUT ROWID;

-- What happened. Columns beside the body exist only to find it.
CREATE TABLE audit (
    seq        INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    type       TEXT    NOT NULL,
    actor      TEXT,
    action     BLOB,
    agent      TEXT,
    tool       TEXT,
    risk       TEXT,
    decision   TEXT,
    resolution INTEGER NOT NULL CHECK (resolution IN (0, 1)),
    body       TEXT    NOT NULL
) STRICT;

CREATE INDEX audit_by_action    ON audit (action, seq) WHERE action IS NOT NULL;
CREATE INDEX audit_resolutions  ON audit (agent, seq)  WHERE resolution = 1;

CREATE TRIGGER audit_is_never_edited BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_never_shortened BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

-- What people are to be told, until they have been.
CREATE TABLE outbox (
    id     INTEGER PRIMARY KEY,
    action BLOB    NOT NULL,
    notice TEXT    NOT NULL,
    at     INTEGER NOT NULL
) STRICT;
