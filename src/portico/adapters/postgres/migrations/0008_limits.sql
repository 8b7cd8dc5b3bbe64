-- How often something was done in the last minute, counted across processes, and what pieces of
-- work may cost, have reserved and have spent.

-- `taken` has a number for each slot of time, at the place that the slot's number leaves when it is
-- divided by their count; `slot` is the newest of them. A row is written over many times a second.
CREATE TABLE portico.call_count (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    subject         text        NOT NULL CHECK (length(subject) BETWEEN 1 AND 400),
    slot            bigint      NOT NULL,
    taken           integer[]   NOT NULL,
    PRIMARY KEY (space_id, subject)
) WITH (fillfactor = 50);

CREATE TABLE portico.budget (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    opened_at       timestamptz NOT NULL DEFAULT now(),
    cap_tokens      bigint      NOT NULL CHECK (cap_tokens >= 0),
    cap_money       numeric     NOT NULL CHECK (cap_money >= 0),
    cap_time        interval    NOT NULL CHECK (cap_time >= '0'),
    cap_calls       bigint      NOT NULL CHECK (cap_calls >= 0),
    held_tokens     bigint      NOT NULL DEFAULT 0 CHECK (held_tokens BETWEEN 0 AND cap_tokens),
    held_money      numeric     NOT NULL DEFAULT 0 CHECK (held_money BETWEEN 0 AND cap_money),
    held_time       interval    NOT NULL DEFAULT '0' CHECK (held_time BETWEEN '0' AND cap_time),
    held_calls      bigint      NOT NULL DEFAULT 0 CHECK (held_calls BETWEEN 0 AND cap_calls),
    PRIMARY KEY (space_id, name)
);

COMMENT ON COLUMN portico.budget.held_tokens IS 'spent or reserved, as are the others of this name';

CREATE TABLE portico.budget_reservation (
    space_id        uuid        NOT NULL,
    budget          text        NOT NULL,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    made_at         timestamptz NOT NULL DEFAULT now(),
    tokens          bigint      NOT NULL CHECK (tokens >= 0),
    money           numeric     NOT NULL CHECK (money >= 0),
    time            interval    NOT NULL CHECK (time >= '0'),
    calls           bigint      NOT NULL CHECK (calls >= 0),
    PRIMARY KEY (space_id, budget, name),
    FOREIGN KEY (space_id, budget) REFERENCES portico.budget ON DELETE CASCADE
);

DO $walls$
DECLARE
    walled text;
    wall text := $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)$$;
BEGIN
    FOREACH walled IN ARRAY ARRAY['call_count', 'budget', 'budget_reservation'] LOOP
        EXECUTE format('ALTER TABLE portico.%I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE portico.%I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format('CREATE POLICY space_wall ON portico.%I USING (%s) WITH CHECK (%s)', walled, wall, wall);
        EXECUTE format('CREATE POLICY owner_door ON portico.%I TO portico_owner USING (true) WITH CHECK (true)', walled);
    END LOOP;
END
$walls$;

GRANT SELECT, INSERT, UPDATE (slot, taken) ON portico.call_count TO portico_app;
GRANT SELECT, INSERT, UPDATE (held_tokens, held_money, held_time, held_calls), DELETE
    ON portico.budget TO portico_app;
GRANT SELECT, INSERT, DELETE ON portico.budget_reservation TO portico_app;

-- Calls out of what is left of each subject's limit in the last `slots` slots, by this server's
-- clock. Whoever waits is served first; nobody is given more than an eighth of the rest ahead of
-- time, so that the last ones go to whoever needs them. What a process was given and has not used
-- comes back to the slot that it was taken from. It is asked with the caller's own rights.
CREATE FUNCTION portico.take_calls(
        subjects text[], most integer[], ahead integer[], waiting integer[], back integer[],
        back_slot bigint[], slot_seconds double precision, slots integer)
    RETURNS TABLE (subject text, granted integer, slot bigint, wait_seconds double precision)
    LANGUAGE plpgsql SET search_path = portico, pg_temp
    AS $$
        DECLARE
            wish record;
            here uuid := current_setting('portico.space')::uuid;
            last bigint;
            counts integer[];
            clock double precision;
            free integer;
        BEGIN
            -- what a crash of the machine loses of the last second is not worth waiting for a disk
            PERFORM set_config('synchronous_commit', 'off', true);
            FOR wish IN
                SELECT * FROM unnest(subjects, most, ahead, waiting, back, back_slot)
                           AS w(who, most, ahead, waiting, back, back_slot)
                 ORDER BY who
            LOOP
                INSERT INTO portico.call_count AS c (space_id, subject, slot, taken)
                VALUES (here, wish.who, 0, array_fill(0, ARRAY[slots]))
                    ON CONFLICT DO NOTHING;
                SELECT c.slot, c.taken INTO last, counts FROM portico.call_count c
                 WHERE c.space_id = here AND c.subject = wish.who FOR UPDATE;
                clock := extract(epoch FROM clock_timestamp());
                slot := floor(clock / slot_seconds);
                IF slot < last AND last - slot < slots THEN
                    slot := last;  -- the clock was set back a little: no slot is counted twice
                END IF;
                IF slot < last OR slot - last >= slots OR cardinality(counts) <> slots THEN
                    counts := array_fill(0, ARRAY[slots]);
                ELSE
                    FOR step IN 1 .. (slot - last)::integer LOOP
                        counts[(last + step) % slots + 1] := 0;
                    END LOOP;
                END IF;
                IF wish.back > 0 AND wish.back_slot BETWEEN slot - slots + 1 AND slot THEN
                    counts[wish.back_slot % slots + 1] :=
                        greatest(counts[wish.back_slot % slots + 1] - wish.back, 0);
                END IF;
                free := greatest(wish.most - (SELECT sum(each) FROM unnest(counts) AS each), 0);
                granted := least(free, greatest(wish.waiting, least(wish.ahead, free / 8)));
                counts[slot % slots + 1] := counts[slot % slots + 1] + granted;
                UPDATE portico.call_count AS c SET slot = take_calls.slot, taken = counts
                 WHERE c.space_id = here AND c.subject = wish.who;
                wait_seconds := 0;
                IF granted = 0 THEN
                    SELECT (min(each) + slots) * slot_seconds - clock INTO wait_seconds
                      FROM generate_series(slot - slots + 1, slot) AS each
                     WHERE counts[each % slots + 1] > 0;
                END IF;
                subject := wish.who;
                RETURN NEXT;
            END LOOP;
        END
    $$;
REVOKE ALL ON FUNCTION portico.take_calls(
    text[], integer[], integer[], integer[], integer[], bigint[], double precision, integer)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.take_calls(
    text[], integer[], integer[], integer[], integer[], bigint[], double precision, integer)
    TO portico_app;
