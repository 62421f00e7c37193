-- What one column may hold is said by its type. A CHECK of a table is read anew, from text, for every statement that writes
-- to it, which took a quarter of the database's time of a commit; that of a type is read once for each session.
CREATE DOMAIN the_only_one AS integer  CHECK (VALUE = 1);
CREATE DOMAIN ulid         AS bytea    CHECK (length(VALUE) = 16);
CREATE DOMAIN sha256       AS bytea    CHECK (length(VALUE) = 32);
CREATE DOMAIN meter_id     AS bytea    CHECK (length(VALUE) = 16);
CREATE DOMAIN ordinal      AS bigint   CHECK (VALUE >= 1);
CREATE DOMAIN tally        AS bigint   CHECK (VALUE >= 0);
CREATE DOMAIN priority     AS smallint CHECK (VALUE BETWEEN 0 AND 100);
CREATE DOMAIN risk_rank    AS smallint CHECK (VALUE BETWEEN 0 AND 4);
CREATE DOMAIN house_mode   AS text     COLLATE "C" CHECK (VALUE IN ('lab', 'shadow', 'production'));
CREATE DOMAIN tier         AS text     COLLATE "C"
    CHECK (VALUE IN ('auto', 'notify', 'approve', 'escalate', 'block'));
CREATE DOMAIN status       AS text     COLLATE "C"
    CHECK (VALUE IN ('blocked', 'pending', 'authorised', 'denied', 'expired', 'cancelled', 'executing', 'succeeded',
                     'failed', 'unknown', 'lapsed', 'revoked'));

ALTER TABLE head
    DROP CONSTRAINT head_one_check, DROP CONSTRAINT head_last_seq_check, DROP CONSTRAINT head_pending_check,
    DROP CONSTRAINT head_mode_check,
    ALTER one TYPE the_only_one, ALTER last_seq TYPE tally, ALTER pending TYPE tally, ALTER mode TYPE house_mode;
ALTER TABLE actions
    DROP CONSTRAINT actions_id_check, DROP CONSTRAINT actions_tier_check, DROP CONSTRAINT actions_status_check,
    DROP CONSTRAINT actions_digest_check, DROP CONSTRAINT actions_version_check, DROP CONSTRAINT actions_batch_check,
    DROP CONSTRAINT actions_join_key_check, DROP CONSTRAINT actions_priority_check,
    DROP CONSTRAINT actions_risk_check,
    ALTER id TYPE ulid, ALTER tier TYPE tier, ALTER status TYPE status, ALTER digest TYPE sha256,
    ALTER version TYPE ordinal, ALTER batch TYPE ulid, ALTER join_key TYPE sha256, ALTER priority TYPE priority,
    ALTER risk TYPE risk_rank;
-- Most actions are not joinable most of the time: those that are not have no place in the index.
ALTER TABLE actions DROP CONSTRAINT actions_join_key_key;
CREATE UNIQUE INDEX one_joinable ON actions (join_key) WHERE join_key IS NOT NULL;
ALTER TABLE pending_by_agents
    DROP CONSTRAINT pending_by_agents_count_check, ALTER count TYPE tally;
ALTER TABLE idempotency_keys
    DROP CONSTRAINT idempotency_keys_id_check, DROP CONSTRAINT idempotency_keys_request_check,
    DROP CONSTRAINT idempotency_keys_action_check,
    ALTER id TYPE sha256, ALTER request TYPE sha256, ALTER action TYPE ulid;
ALTER TABLE charges
    DROP CONSTRAINT charges_meter_check, DROP CONSTRAINT charges_action_check, DROP CONSTRAINT charges_amount_check,
    DROP CONSTRAINT charges_value_check,
    ALTER meter TYPE meter_id, ALTER action TYPE ulid, ALTER amount TYPE tally, ALTER value TYPE sha256;

-- Rows as a node hands them over: one array for all that a group writes to a table. An array for each column took the
-- database a table in memory for each. They are not the tables' own types, so that a table can have another column while a
-- node of an earlier version still writes.
CREATE TYPE action_row AS (
    id bytea, tier text, status text, digest bytea, version bigint, revision bigint, wake_at bigint, join_key bytea,
    claimed_at bigint, priority smallint, reviews text, state text, risk smallint, deadline bigint, agent text,
    owner text, tool text, batch bytea, created_at bigint);
CREATE TYPE submission_row AS (action bytea, version bigint, body text);
CREATE TYPE idempotency_key_row AS (id bytea, agent text, key text, request bytea, action bytea, created_at bigint);
-- The place is counted from where the log ended before.
CREATE TYPE event_row AS (
    place bigint, at bigint, type text, actor text, action bytea, agent text, tool text, risk text, decision text,
    resolution boolean, observed boolean, body text);
CREATE TYPE notice_row AS (place bigint, action bytea, notice text, at bigint);
CREATE TYPE agent_row AS (agent text, number bigint);
