-- The one row that every commit locks, on whichever node: its holder alone writes, so guards meet the state that they
-- were checked against, and audit numbers have no gaps. It also holds the house rules' epoch and mode.
CREATE TABLE head (
    one            integer PRIMARY KEY CHECK (one = 1),
    last_seq       bigint  NOT NULL CHECK (last_seq >= 0),
    pending        bigint  NOT NULL CHECK (pending >= 0),
    epoch          bigint  NOT NULL,
    mode           text    NOT NULL CHECK (mode IN ('lab', 'shadow', 'production')),
    -- After a fallback: the mode whose demands hold as well, until a person changes the mode.
    fell_back_from text    CHECK (fell_back_from IS NULL OR (fell_back_from = 'production' AND mode = 'shadow'))
-- Room for new versions of the row on its page, since every commit makes one.
) WITH (fillfactor = 10);
INSERT INTO head (one, last_seq, pending, epoch, mode) VALUES (1, 0, 0, 1, 'production');

CREATE TABLE freezes (
    id   bytea PRIMARY KEY CHECK (length(id) = 16),
    body text  NOT NULL
);

CREATE TABLE grants (
    id         bytea  PRIMARY KEY CHECK (length(id) = 16),
    expires_at bigint NOT NULL,
    body       text   NOT NULL
);

-- Whose roles others may use, and until when.
CREATE TABLE delegations (
    id      bytea  PRIMARY KEY CHECK (length(id) = 16),
    ends_at bigint NOT NULL,
    body    text   NOT NULL
);

-- Who may come in. Only the SHA-256 of a secret is kept.
CREATE TABLE credentials (
    id          bytea  PRIMARY KEY CHECK (length(id) = 16),
    secret_hash bytea  NOT NULL UNIQUE CHECK (length(secret_hash) = 32),
    kind        text   NOT NULL CHECK (kind IN ('agent', 'reviewer', 'admin')),
    name        text   NOT NULL CHECK (name <> ''),
    owner       text,
    roles       text   NOT NULL,
    created_at  bigint NOT NULL,
    expires_at  bigint,
    revoked_at  bigint,
    CHECK (owner IS NULL OR kind = 'agent')
);

-- Where each action stands. What would run is kept apart, in submissions.
CREATE TABLE actions (
    id         bytea    PRIMARY KEY CHECK (length(id) = 16),
    agent      text     COLLATE "C" NOT NULL,
    owner      text,
    tool       text     COLLATE "C" NOT NULL,
    tier       text     COLLATE "C" NOT NULL CHECK (tier IN ('auto', 'notify', 'approve', 'escalate', 'block')),
    status     text     COLLATE "C" NOT NULL
        CHECK (status IN ('blocked', 'pending', 'authorised', 'denied', 'expired', 'cancelled', 'executing',
                          'succeeded', 'failed', 'unknown', 'lapsed', 'revoked')),
    digest     bytea    NOT NULL CHECK (length(digest) = 32),
    version    bigint   NOT NULL CHECK (version >= 1),
    revision   bigint   NOT NULL CHECK (revision >= version),
    batch      bytea    CHECK (length(batch) = 16),
    created_at bigint   NOT NULL,
    -- When time itself moves the action on: the deadline, the lapse or the end of the lease.
    wake_at    bigint,
    -- While the same proposal, sent again, joins this one: the SHA-256 of the agent's and the proposal's digests.
    join_key   bytea    UNIQUE CHECK (length(join_key) = 32),
    claimed_at bigint,
    -- How soon people should look, from 0 to 100, as triage says.
    priority   smallint NOT NULL CHECK (priority BETWEEN 0 AND 100),
    reviews    text     NOT NULL,
    state      text     NOT NULL,
    CHECK ((wake_at IS NOT NULL) = (status IN ('pending', 'authorised', 'executing'))),
    CHECK ((claimed_at IS NOT NULL) = (status IN ('executing', 'succeeded', 'failed', 'unknown'))),
    CHECK (join_key IS NULL OR status IN ('pending', 'authorised')),
    CHECK (status <> 'pending' OR tier IN ('approve', 'escalate')),
    CHECK (tier <> 'block' OR status = 'blocked')
);

-- What people ask for all day; a million pending rows must not slow any of it down.
CREATE INDEX open_by_status      ON actions (status, id)
    WHERE status IN ('pending', 'authorised', 'executing', 'unknown');
CREATE INDEX pending_by_tier     ON actions (tier, id)  WHERE status = 'pending';
CREATE INDEX pending_by_tool     ON actions (tool, id)  WHERE status = 'pending';
CREATE INDEX pending_by_agent    ON actions (agent, id) WHERE status = 'pending';
CREATE INDEX pending_by_priority ON actions (priority DESC, id) WHERE status = 'pending' AND priority > 0;
CREATE INDEX due                 ON actions (wake_at)   WHERE wake_at IS NOT NULL;

-- How many actions of each agent are pending, so that a limit costs a look and not a count.
CREATE TABLE pending_by_agents (
    agent text   COLLATE "C" PRIMARY KEY,
    count bigint NOT NULL CHECK (count >= 0)
) WITH (fillfactor = 50);

-- What would run, version by version, with what assessing and judging it gave.
CREATE TABLE submissions (
    action  bytea  NOT NULL,
    version bigint NOT NULL,
    body    text   NOT NULL,
    PRIMARY KEY (action, version)
);

CREATE TABLE batches (
    id         bytea  PRIMARY KEY CHECK (length(id) = 16),
    agent      text   NOT NULL,
    created_at bigint NOT NULL,
    items      bytea  NOT NULL CHECK (length(items) % 16 = 0)
);

-- Requests that may be sent again, by the SHA-256 of the agent's name and its key.
CREATE TABLE idempotency_keys (
    id         bytea  PRIMARY KEY CHECK (length(id) = 32),
    agent      text   NOT NULL,
    key        text   NOT NULL,
    request    bytea  NOT NULL CHECK (length(request) = 32),
    action     bytea  NOT NULL CHECK (length(action) = 16),
    created_at bigint NOT NULL
);

-- What actions added to the meters of policy.
CREATE TABLE charges (
    meter  bytea  NOT NULL CHECK (length(meter) = 16),
    at     bigint NOT NULL,
    action bytea  NOT NULL CHECK (length(action) = 16),
    amount bigint NOT NULL CHECK (amount >= 0),
    value  bytea  CHECK (length(value) = 32),
    PRIMARY KEY (meter, at, action)
);
CREATE INDEX charges_by_action ON charges (action);

-- What happened. Columns beside the body exist only to find it.
CREATE TABLE audit (
    seq        bigint  PRIMARY KEY,
    at         bigint  NOT NULL,
    type       text    COLLATE "C" NOT NULL,
    actor      text    COLLATE "C",
    action     bytea,
    agent      text    COLLATE "C",
    tool       text    COLLATE "C",
    risk       text    COLLATE "C",
    decision   text    COLLATE "C",
    resolution boolean NOT NULL,
    observed   boolean NOT NULL,
    body       text    NOT NULL
);
CREATE INDEX audit_by_action   ON audit (action, seq) WHERE action IS NOT NULL;
CREATE INDEX audit_resolutions ON audit (agent, seq)  WHERE resolution;
CREATE INDEX audit_observed    ON audit (seq)         WHERE observed;

-- What people are to be told, until they have been.
CREATE TABLE outbox (
    id          bigint PRIMARY KEY,
    action      bytea  NOT NULL,
    notice      text   NOT NULL,
    at          bigint NOT NULL,
    -- Until when one node has it in hand, by the database's clock.
    taken_until timestamptz NOT NULL DEFAULT '-infinity'
);

-- Whatever the code above believes: the log only grows, actions stay, and a claim once taken is never changed.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% is not allowed: %', lower(TG_OP), TG_ARGV[0]; END $$;
CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse('the audit log is append-only');
CREATE TRIGGER audit_is_never_emptied BEFORE TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('the audit log is append-only');
CREATE TRIGGER actions_are_never_removed BEFORE DELETE ON actions
    FOR EACH ROW EXECUTE FUNCTION refuse('actions are never removed');
CREATE TRIGGER actions_are_never_emptied BEFORE TRUNCATE ON actions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('actions are never removed');
CREATE TRIGGER a_claim_stays BEFORE UPDATE ON actions
    FOR EACH ROW WHEN (OLD.claimed_at IS NOT NULL AND OLD.claimed_at IS DISTINCT FROM NEW.claimed_at)
    EXECUTE FUNCTION refuse('a claim, once taken, is never changed');
