-- In a table without rowids a row of more than a quarter of a page has a page of its own for the rest, which most
-- submissions came to: half of all that was written. By rowid a page holds three of them.
CREATE TABLE submissions_by_row (
    action  BLOB    NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (action, version)
) STRICT;
INSERT INTO submissions_by_row (action, version, body)
    SELECT action, version, body FROM submissions ORDER BY action, version;
DROP TABLE submissions;
ALTER TABLE submissions_by_row RENAME TO submissions;
