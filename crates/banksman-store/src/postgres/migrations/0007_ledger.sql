-- What the audit log hashes to: one hash for each full page of 256 events, and what was signed about all of it.
CREATE TABLE ledger_pages (
    page bigint PRIMARY KEY,
    hash bytea  NOT NULL CHECK (length(hash) = 32)
);
CREATE TABLE checkpoints (
    size bigint PRIMARY KEY,
    at   bigint NOT NULL,
    note text   NOT NULL
);
CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE ON ledger_pages
    FOR EACH ROW EXECUTE FUNCTION refuse('the ledger is append-only');
CREATE TRIGGER ledger_is_never_emptied BEFORE TRUNCATE ON ledger_pages
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('the ledger is append-only');
CREATE TRIGGER checkpoints_are_append_only BEFORE UPDATE OR DELETE ON checkpoints
    FOR EACH ROW EXECUTE FUNCTION refuse('the ledger is append-only');
CREATE TRIGGER checkpoints_are_never_emptied BEFORE TRUNCATE ON checkpoints
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('the ledger is append-only');
