-- Deliveries that go together in one message, by the first of them: from before it is sent, and for as long as it may
-- have been taken. So a message that is tried again is the same one.
ALTER TABLE deliveries ADD COLUMN bundle INTEGER;
-- Tries that count against it: those that failed while its channel took what others sent.
ALTER TABLE deliveries ADD COLUMN strikes INTEGER NOT NULL DEFAULT 0 CHECK (strikes >= 0);
CREATE INDEX deliveries_by_bundle ON deliveries (bundle) WHERE bundle IS NOT NULL;
