-- What an inbox is sorted and filtered by. The risk is its rank, from 0 for none to 4 for critical; what is not known yet
-- counts as the worst. The deadline stays when the hold is over, for whoever turns pages behind it.
ALTER TABLE actions ADD COLUMN risk INTEGER NOT NULL DEFAULT 4 CHECK (risk >= 0 AND risk <= 4);
ALTER TABLE actions ADD COLUMN deadline INTEGER;
UPDATE actions SET
    risk = (SELECT CASE json_extract(s.body, '$.verdict.risk')
                   WHEN 'none' THEN 0 WHEN 'low' THEN 1 WHEN 'medium' THEN 2 WHEN 'high' THEN 3 ELSE 4 END
            FROM submissions s WHERE s.action = actions.id AND s.version = actions.version),
    deadline = json_extract(state, '$.pending.deadline');

-- All that a list of pending actions is chosen by, in the order that it usually has: one short stretch to read, whatever
-- the question. It takes the place of the index of priorities.
DROP INDEX pending_by_priority;
CREATE INDEX pending_in_brief ON actions (priority DESC, id, version, risk, deadline, tier, tool, agent)
    WHERE status = 'pending';
