-- Durable runs, what each of their steps gave, the answers they wait for, and the log of events.
--
-- These tables have a third kind of reader. The engine hands work to processes without knowing
-- whose it is, so its role sees every space, and of each row only what it needs for that:
--   engine_door   ids, states and times. No grant of the engine's covers an input, an output, an
--                 answer or an event's facts.
-- The wall of these tables also looks at the label: whoever is not cleared for a row does not
-- have it, and cannot write one either.

CREATE TABLE portico.run (
    space_id                uuid        NOT NULL,
    run_id                  uuid        NOT NULL,
    principal_id            uuid        NOT NULL,
    kind                    text        NOT NULL CHECK (length(kind) BETWEEN 1 AND 100),
    fingerprint             text        NOT NULL,
    level                   smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments            text[]      NOT NULL DEFAULT '{}',
    clearance_level         smallint    NOT NULL CHECK (clearance_level BETWEEN 0 AND 3),
    clearance_compartments  text[]      NOT NULL DEFAULT '{}',
    scopes                  text[]      NOT NULL DEFAULT '{}',
    queue                   text        NOT NULL,
    partition_key           text,
    priority                integer     NOT NULL DEFAULT 0,
    status                  text        NOT NULL CHECK (status IN
        ('queued', 'running', 'waiting', 'done', 'failed', 'cancelled', 'stuck')),
    leg                     integer     NOT NULL DEFAULT 1,
    claim                   uuid,
    executor                text,
    attempts                integer     NOT NULL DEFAULT 0,
    waits_for               text[]      NOT NULL DEFAULT '{}',
    wakes_at                timestamptz,
    forked_from             uuid,
    trace                   text,
    input                   json        NOT NULL,
    result                  json,
    error                   json,
    created_at              timestamptz NOT NULL,
    started_at              timestamptz,
    finished_at             timestamptz,
    changed_at              timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, run_id),
    UNIQUE (run_id),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

CREATE INDEX run_by_age ON portico.run (space_id, created_at, run_id);
CREATE INDEX run_in_flight ON portico.run (changed_at) WHERE status IN ('queued', 'running');
CREATE INDEX run_wakes ON portico.run (wakes_at) WHERE status = 'waiting' AND wakes_at IS NOT NULL;
CREATE INDEX run_finished ON portico.run (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE portico.run_step (
    space_id        uuid        NOT NULL,
    run_id          uuid        NOT NULL,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 300),
    number          integer     NOT NULL,
    state           text        NOT NULL CHECK (state IN ('open', 'done', 'failed')),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    output          json,
    error           json,
    due_at          timestamptz,
    started_at      timestamptz NOT NULL,
    finished_at     timestamptz,
    PRIMARY KEY (space_id, run_id, name),
    FOREIGN KEY (space_id, run_id) REFERENCES portico.run ON DELETE CASCADE
);

CREATE TABLE portico.run_signal (
    space_id        uuid        NOT NULL,
    run_id          uuid        NOT NULL,
    topic           text        NOT NULL CHECK (length(topic) BETWEEN 1 AND 200),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    principal_id    uuid        NOT NULL,
    payload         json        NOT NULL,
    sent_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, run_id, topic),
    FOREIGN KEY (space_id, run_id) REFERENCES portico.run ON DELETE CASCADE
);

-- `last` is the number of the newest entry: whoever appends holds this row until it commits, so
-- that numbers have no gap and entries are seen in their order. `first` is the oldest one kept.
CREATE TABLE portico.stream (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    topic           text        NOT NULL CHECK (length(topic) BETWEEN 1 AND 200),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    first           bigint      NOT NULL DEFAULT 1,
    last            bigint      NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, topic)
) WITH (fillfactor = 50);

CREATE TABLE portico.event (
    space_id        uuid        NOT NULL,
    topic           text        NOT NULL,
    number          bigint      NOT NULL,
    at              timestamptz NOT NULL DEFAULT clock_timestamp(),
    event_id        uuid        NOT NULL,
    type            text        NOT NULL CHECK (length(type) BETWEEN 1 AND 100),
    principal_id    uuid,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    facts           json        NOT NULL,
    PRIMARY KEY (space_id, topic, number, at),
    FOREIGN KEY (space_id, topic) REFERENCES portico.stream ON DELETE CASCADE
) PARTITION BY RANGE (at);

-- For what no month was made for: an append never fails for want of one.
CREATE TABLE portico.event_other PARTITION OF portico.event DEFAULT;

-- Tables that a library keeps beside ours, and which version of it made them.
CREATE TABLE portico.companion (
    name        text        PRIMARY KEY,
    version     text        NOT NULL,
    migrated_at timestamptz NOT NULL DEFAULT now()
);

DO $walls$
DECLARE
    walled text;
    wall text := $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)
        AND level <= (SELECT coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint)
        AND compartments <@ (SELECT string_to_array(coalesce(current_setting('portico.compartments', true), ''), ','))$$;
BEGIN
    FOREACH walled IN ARRAY ARRAY['run', 'run_step', 'run_signal', 'stream', 'event', 'event_other'] LOOP
        EXECUTE format('ALTER TABLE portico.%I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE portico.%I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format('CREATE POLICY space_wall ON portico.%I USING (%s) WITH CHECK (%s)', walled, wall, wall);
        EXECUTE format('CREATE POLICY owner_door ON portico.%I TO portico_owner USING (true) WITH CHECK (true)', walled);
    END LOOP;
    FOREACH walled IN ARRAY ARRAY['run', 'stream', 'event', 'receipt'] LOOP
        EXECUTE format('CREATE POLICY engine_door ON portico.%I TO portico_engine USING (true) WITH CHECK (true)', walled);
    END LOOP;
END
$walls$;

GRANT SELECT, INSERT,
      UPDATE (status, leg, claim, executor, attempts, waits_for, wakes_at, result, error,
              started_at, finished_at, changed_at) ON portico.run TO portico_app;
GRANT SELECT, INSERT, UPDATE (number, state, output, error, due_at, finished_at), DELETE
    ON portico.run_step TO portico_app;
GRANT SELECT, INSERT ON portico.run_signal TO portico_app;
GRANT SELECT, INSERT, UPDATE (last) ON portico.stream TO portico_app;
GRANT SELECT, INSERT ON portico.event TO portico_app;

GRANT USAGE ON SCHEMA portico TO portico_engine;
GRANT SELECT (space_id, run_id, principal_id, kind, level, compartments, clearance_level,
              clearance_compartments, queue, partition_key, priority, status, leg, claim, executor,
              attempts, wakes_at, created_at, started_at, finished_at, changed_at),
      UPDATE (status, leg, claim, executor, attempts, wakes_at, started_at, finished_at,
              changed_at),
      DELETE ON portico.run TO portico_engine;
GRANT SELECT (space_id, topic, first, last, created_at), UPDATE (first), DELETE
    ON portico.stream TO portico_engine;
GRANT SELECT (space_id, topic, number, at), DELETE ON portico.event TO portico_engine;
GRANT SELECT (space_id, principal_id, operation, key, created_at), DELETE
    ON portico.receipt TO portico_engine;

-- What happens most, in one round trip and with plans that are kept: who asks is put into the
-- transaction by the statement itself. They run with the rights of whoever calls them.
CREATE FUNCTION portico.enter(
    asking_space uuid, asking uuid, asking_level smallint, asking_compartments text
)
    RETURNS void
    LANGUAGE sql
    AS $$
        SELECT set_config('portico.space', asking_space::text, true),
               set_config('portico.principal', asking::text, true),
               set_config('portico.level', asking_level::text, true),
               set_config('portico.compartments', asking_compartments, true)
    $$;
REVOKE ALL ON FUNCTION portico.enter(uuid, uuid, smallint, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.enter(uuid, uuid, smallint, text) TO portico_app;

CREATE FUNCTION portico.append_event(
    asking_space uuid, asking uuid, asking_level smallint, asking_compartments text,
    its_topic text, topic_level smallint, topic_compartments text[],
    its_event uuid, its_type text, its_level smallint, its_compartments text[], its_facts json
)
    RETURNS bigint
    LANGUAGE plpgsql
    AS $$
        DECLARE
            held record;
        BEGIN
            PERFORM portico.enter(asking_space, asking, asking_level, asking_compartments);
            INSERT INTO portico.stream AS s (space_id, topic, level, compartments, last)
            VALUES (asking_space, its_topic, topic_level, topic_compartments, 1)
            ON CONFLICT (space_id, topic) DO UPDATE SET last = s.last + 1
            RETURNING s.last, s.level, s.compartments INTO held;
            INSERT INTO portico.event (
                space_id, topic, number, event_id, type, principal_id, level, compartments, facts
            ) VALUES (
                asking_space, its_topic, held.last, its_event, its_type, asking,
                greatest(held.level, its_level),
                CASE WHEN its_compartments <@ held.compartments THEN held.compartments
                     ELSE ARRAY(SELECT DISTINCT unnest(held.compartments || its_compartments)
                                 ORDER BY 1) END,
                its_facts
            );
            RETURN held.last;
        END
    $$;
REVOKE ALL ON FUNCTION portico.append_event(
    uuid, uuid, smallint, text, text, smallint, text[], uuid, text, smallint, text[], json
) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.append_event(
    uuid, uuid, smallint, text, text, smallint, text[], uuid, text, smallint, text[], json
) TO portico_app;

-- Several of one caller's: the topics are held in the order of their names, and each entry has the
-- number that it would have had one by one.
CREATE FUNCTION portico.append_events(
    asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, entries json
)
    RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
        DECLARE
            numbers bigint[];
        BEGIN
            PERFORM portico.enter(asking_space, asking, asking_level, asking_compartments);
            WITH given AS MATERIALIZED (
                SELECT e.*,
                       row_number() OVER (PARTITION BY e.topic ORDER BY e.place) AS turn,
                       count(*) OVER (PARTITION BY e.topic) AS many
                  FROM ROWS FROM (json_to_recordset(entries) AS (
                           topic text, topic_level smallint, topic_compartments text[], event uuid,
                           type text, level smallint, compartments text[], facts json
                       )) WITH ORDINALITY AS e (
                           topic, topic_level, topic_compartments, event, type, level,
                           compartments, facts, place)
            ), held AS (
                INSERT INTO portico.stream AS s (space_id, topic, level, compartments, last)
                SELECT asking_space, g.topic, g.topic_level, g.topic_compartments, g.many
                  FROM given g WHERE g.turn = 1 ORDER BY g.topic
                ON CONFLICT (space_id, topic) DO UPDATE SET last = s.last + excluded.last
                RETURNING s.topic, s.last, s.level, s.compartments
            ), told AS (
                INSERT INTO portico.event (
                    space_id, topic, number, event_id, type, principal_id, level, compartments,
                    facts
                )
                SELECT asking_space, g.topic, h.last - g.many + g.turn, g.event, g.type, asking,
                       greatest(h.level, g.level),
                       CASE WHEN g.compartments <@ h.compartments THEN h.compartments
                            ELSE ARRAY(SELECT DISTINCT unnest(h.compartments || g.compartments)
                                        ORDER BY 1) END,
                       g.facts
                  FROM given g JOIN held h ON h.topic = g.topic
            )
            SELECT array_agg(h.last - g.many + g.turn ORDER BY g.place) INTO numbers
              FROM given g JOIN held h ON h.topic = g.topic;
            RETURN numbers;
        END
    $$;
REVOKE ALL ON FUNCTION portico.append_events(uuid, uuid, smallint, text, json) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.append_events(uuid, uuid, smallint, text, json) TO portico_app;

-- False if the run is somebody else's by now. Who claims it waits for those who are noting a
-- step, so that nothing is noted after it was read what there is.
CREATE FUNCTION portico.finish_step(
    asking_space uuid, asking uuid, asking_level smallint, asking_compartments text,
    its_run uuid, its_claim uuid, its_name text, its_number integer, its_state text,
    its_output json, its_error json, its_due timestamptz, its_start timestamptz,
    its_end timestamptz, its_topic text, its_event uuid, its_type text, its_facts json
)
    RETURNS boolean
    LANGUAGE plpgsql
    AS $$
        DECLARE
            mine record;
        BEGIN
            PERFORM portico.enter(asking_space, asking, asking_level, asking_compartments);
            SELECT r.level, r.compartments INTO mine
              FROM portico.run r
             WHERE r.space_id = asking_space AND r.run_id = its_run AND r.claim = its_claim
               FOR SHARE;
            IF NOT FOUND THEN
                RETURN false;
            END IF;
            INSERT INTO portico.run_step AS s (
                space_id, run_id, name, number, state, level, compartments, output, error,
                due_at, started_at, finished_at
            ) VALUES (
                asking_space, its_run, its_name, its_number, its_state, mine.level,
                mine.compartments, its_output, its_error, its_due, its_start, its_end
            )
            ON CONFLICT (space_id, run_id, name) DO UPDATE
               SET number = excluded.number, state = excluded.state, output = excluded.output,
                   error = excluded.error, finished_at = excluded.finished_at
             WHERE s.state = 'open' AND excluded.state <> 'open';
            IF FOUND THEN
                PERFORM portico.append_event(
                    asking_space, asking, asking_level, asking_compartments, its_topic,
                    mine.level, mine.compartments, its_event, its_type, mine.level,
                    mine.compartments, its_facts);
            END IF;
            RETURN true;
        END
    $$;
REVOKE ALL ON FUNCTION portico.finish_step(
    uuid, uuid, smallint, text, uuid, uuid, text, integer, text, json, json, timestamptz,
    timestamptz, timestamptz, text, uuid, text, json
) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.finish_step(
    uuid, uuid, smallint, text, uuid, uuid, text, integer, text, json, json, timestamptz,
    timestamptz, timestamptz, text, uuid, text, json
) TO portico_app;

-- Months are tables, and only their owner makes and drops tables: these two do it for the engine.
-- Both have to have the log to themselves, and while they wait for that every append waits behind
-- them: so they give up soon, and are called again. Months begin and end in UTC.
CREATE FUNCTION portico.prepare_event_months(ahead integer)
    RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    SET lock_timeout = '2s' SET "TimeZone" = 'UTC'
    AS $$
        DECLARE
            start timestamptz;
            name text;
            made integer := 0;
        BEGIN
            FOR i IN 0 .. least(greatest(ahead, 0), 24) LOOP
                start := (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => i))
                         AT TIME ZONE 'UTC';
                name := 'event_' || to_char(start AT TIME ZONE 'UTC', 'YYYY_MM');
                CONTINUE WHEN to_regclass('portico.' || name) IS NOT NULL;
                BEGIN
                    EXECUTE format(
                        'CREATE TABLE portico.%I PARTITION OF portico.event FOR VALUES FROM (%L) TO (%L)',
                        name, start,
                        (start AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC');
                EXCEPTION WHEN check_violation THEN
                    CONTINUE;  -- it has begun in event_other, and stays there
                END;
                EXECUTE format('ALTER TABLE portico.%I ENABLE ROW LEVEL SECURITY', name);
                EXECUTE format('ALTER TABLE portico.%I FORCE ROW LEVEL SECURITY', name);
                EXECUTE format(
                    'CREATE POLICY owner_door ON portico.%I TO portico_owner USING (true) WITH CHECK (true)',
                    name);
                made := made + 1;
            END LOOP;
            RETURN made;
        END
    $$;
REVOKE ALL ON FUNCTION portico.prepare_event_months(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.prepare_event_months(integer) TO portico_engine;

CREATE FUNCTION portico.drop_event_months(before timestamptz)
    RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    SET lock_timeout = '2s' SET "TimeZone" = 'UTC'
    AS $$
        DECLARE
            old text;
            dropped integer := 0;
        BEGIN
            FOR old IN
                SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                 WHERE i.inhparent = 'portico.event'::regclass
                   AND c.relname ~ '^event_[0-9]{4}_[0-9]{2}$'
                   AND (to_date(substr(c.relname, 7), 'YYYY_MM') + interval '1 month')
                       AT TIME ZONE 'UTC' <= before
            LOOP
                EXECUTE format('DROP TABLE portico.%I', old);
                dropped := dropped + 1;
            END LOOP;
            RETURN dropped;
        END
    $$;
REVOKE ALL ON FUNCTION portico.drop_event_months(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.drop_event_months(timestamptz) TO portico_engine;

-- Figures are those of all spaces together: who may found spaces may see them, and no role brings it.
UPDATE portico.principal SET grants = array_append(grants, 'metrics:read')
 WHERE 'spaces:create' = ANY(grants) AND NOT 'metrics:read' = ANY(grants);
