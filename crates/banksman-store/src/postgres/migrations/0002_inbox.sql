-- What an inbox is sorted and filtered by. The risk is its rank, from 0 for none to 4 for critical; what is not known yet
-- counts as the worst. The deadline stays when the hold is over, for whoever turns pages behind it.
ALTER TABLE actions ADD COLUMN risk smallint NOT NULL DEFAULT 4 CHECK (risk BETWEEN 0 AND 4);
ALTER TABLE actions ADD COLUMN deadline bigint;
UPDATE actions a SET
    risk = CASE s.body::json -> 'verdict' ->> 'risk'
           WHEN 'none' THEN 0 WHEN 'low' THEN 1 WHEN 'medium' THEN 2 WHEN 'high' THEN 3 ELSE 4 END,
    deadline = (a.state::json -> 'pending' ->> 'deadline')::bigint
FROM submissions s WHERE s.action = a.id AND s.version = a.version;

-- All that a list of pending actions is chosen by, in the order that it usually has: one short stretch to read, whatever
-- the question. It takes the place of the index of priorities.
DROP INDEX pending_by_priority;
CREATE INDEX pending_in_brief ON actions (priority DESC, id) INCLUDE (version, risk, deadline, tier, tool, agent)
    WHERE status = 'pending';
