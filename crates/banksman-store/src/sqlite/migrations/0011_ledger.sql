-- What the audit log hashes to: one hash for each full page of 256 events, and what was signed about all of it.
CREATE TABLE ledger_pages (
    page INTEGER PRIMARY KEY,
    hash BLOB    NOT NULL CHECK (length(hash) = 32)
) STRICT;
CREATE TABLE checkpoints (
    size INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    note TEXT    NOT NULL
) STRICT;
CREATE TRIGGER ledger_is_never_edited BEFORE UPDATE ON ledger_pages
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_never_shortened BEFORE DELETE ON ledger_pages
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER checkpoints_are_never_edited BEFORE UPDATE ON checkpoints
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER checkpoints_are_never_removed BEFORE DELETE ON checkpoints
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
