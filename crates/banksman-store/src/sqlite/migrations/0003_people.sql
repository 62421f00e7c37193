-- Whose roles others may use, and until when.
CREATE TABLE delegations (
    id      BLOB    PRIMARY KEY CHECK (length(id) = 16),
    ends_at INTEGER NOT NULL,
    body    TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- After a fallback: the mode whose demands hold as well, until a person changes the mode.
ALTER TABLE control ADD COLUMN fell_back_from TEXT
    CHECK (fell_back_from IS NULL OR (fell_back_from = 'production' AND mode = 'shadow'));

-- What people would have been asked about, had policy not only observed.
ALTER TABLE audit ADD COLUMN observed INTEGER NOT NULL DEFAULT 0 CHECK (observed IN (0, 1));
CREATE INDEX audit_observed ON audit (seq) WHERE observed = 1;
