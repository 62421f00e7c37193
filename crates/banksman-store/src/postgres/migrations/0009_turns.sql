-- Takes a group's turn: locks the row that every commit locks, and goes on only if the terms hold for it.
--
-- A function, because what a function does sees what is committed when it begins to do it. The statement that calls it has an older
-- view: if that waited for the row itself, the database would set up all of the statement a second time once the row has changed.
--
-- What was entered before is handed over so that it is entered before. The time that is compared with the node's is that at which
-- the statement arrived, before it waited for anything; the one that deadlines are compared with is that at which the lock was had.
CREATE FUNCTION take_turn(
    has_moved bigint, should_move bigint, entered bigint,
    events bigint, more_pending bigint, epochs bigint, people_epochs bigint,
    of_epoch bigint, of_people_epoch bigint, most_pending bigint, here bigint, apart bigint,
    fewer agent_row[],
    OUT before bigint, OUT now bigint
) LANGUAGE plpgsql AS $$
BEGIN
    IF has_moved <> should_move THEN
        RAISE EXCEPTION '% of % actions were moved', has_moved, should_move;
    END IF;
    UPDATE head SET last_seq = last_seq + events, pending = pending + more_pending, epoch = epoch + epochs,
                    people_epoch = people_epoch + people_epochs
    WHERE one = 1 AND epoch = coalesce(of_epoch, epoch) AND people_epoch = coalesce(of_people_epoch, people_epoch)
          AND pending <= most_pending
          AND abs(coalesce(here - (extract(epoch FROM transaction_timestamp()) * 1000000)::bigint, 0)) <= apart
    RETURNING last_seq - events, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint INTO before, now;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the terms do not hold';
    END IF;
    -- Here for the same reason. Apart from those who have more: what would be new must not be negative, and is checked even where
    -- it only adds to what is there.
    IF fewer IS NOT NULL THEN
        UPDATE pending_by_agents p SET count = p.count + n.number
        FROM unnest(fewer) AS n WHERE p.agent = n.agent COLLATE "C";
    END IF;
END $$;
