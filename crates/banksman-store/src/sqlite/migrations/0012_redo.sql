-- The lap of the file beside this one that is written now, and how many of its records are in here.
CREATE TABLE redo (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    lap     INTEGER NOT NULL,
    applied INTEGER NOT NULL CHECK (applied >= 0)
) STRICT;
INSERT INTO redo (one, lap, applied) VALUES (1, 0, 0);
