-- What actions added to the meters of policy. The key holds all that is read, so that adding up a window reads one
-- stretch of it and nothing else.
CREATE TABLE charges (
    meter  BLOB    NOT NULL CHECK (length(meter) = 16),
    at     INTEGER NOT NULL,
    action BLOB    NOT NULL CHECK (length(action) = 16),
    amount INTEGER NOT NULL CHECK (amount >= 0),
    value  BLOB    CHECK (length(value) = 32),
    PRIMARY KEY (meter, at, action)
) STRICT, WITHOUT ROWID;

CREATE INDEX charges_by_action ON charges (action);
