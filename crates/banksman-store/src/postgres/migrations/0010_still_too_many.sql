-- An agent that has fewer pending than before may still have too many: whoever takes a turn says how many there may be.
DROP FUNCTION take_turn;
CREATE FUNCTION take_turn(
    has_moved bigint, should_move bigint, entered bigint,
    events bigint, more_pending bigint, epochs bigint, people_epochs bigint,
    of_epoch bigint, of_people_epoch bigint, most_pending bigint, here bigint, apart bigint,
    fewer agent_row[], most_of agent_row[],
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
    -- Here because a function sees what is committed when it begins. Apart from those who have more: what would be new must not be
    -- negative, and is checked even where it only adds to what is there.
    IF fewer IS NOT NULL THEN
        UPDATE pending_by_agents p SET count = p.count + n.number
        FROM unnest(fewer) AS n WHERE p.agent = n.agent COLLATE "C";
    END IF;
    IF most_of IS NOT NULL AND EXISTS (
        SELECT FROM unnest(most_of) AS n JOIN pending_by_agents p ON p.agent = n.agent COLLATE "C"
        WHERE p.count > n.number) THEN
        RAISE EXCEPTION 'agents still hold too much';
    END IF;
END $$;
