CREATE SCHEMA portico;

ALTER SCHEMA portico OWNER TO portico_owner;

CREATE FUNCTION portico.append_audit(acts text[], OUT number bigint, OUT hash bytea) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
    #variable_conflict use_column
    DECLARE
        here    uuid := nullif(current_setting('portico.space', true), '')::uuid;
        who     uuid := nullif(current_setting('portico.principal', true), '')::uuid;
        act     text;
        moment  timestamptz;
        line    text;
        numbers bigint[] := '{}';
        moments timestamptz[] := '{}';
        lines   text[] := '{}';
        hashes  bytea[] := '{}';
    BEGIN
        IF here IS NULL OR who IS NULL THEN
            RAISE insufficient_privilege USING MESSAGE = 'an entry needs a space and a principal';
        END IF;
        SELECT h.number, h.hash INTO append_audit.number, append_audit.hash
          FROM portico.audit_head h WHERE h.space_id = here FOR UPDATE;
        IF NOT FOUND THEN
            INSERT INTO portico.audit_head VALUES (here, 0, decode(repeat('00', 32), 'hex'))
                ON CONFLICT DO NOTHING;
            SELECT h.number, h.hash INTO append_audit.number, append_audit.hash
              FROM portico.audit_head h WHERE h.space_id = here FOR UPDATE;
        END IF;
        FOREACH act IN ARRAY acts LOOP
            IF json_typeof(act::json) IS DISTINCT FROM 'object' THEN
                RAISE invalid_parameter_value USING MESSAGE = 'an act is a JSON object';
            END IF;
            moment := clock_timestamp();
            append_audit.number := append_audit.number + 1;
            line := '{"act":' || act
                || ',"at":"' || to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
                || '","by":"' || who
                || '","number":' || append_audit.number
                || ',"space":"' || here || '"}';
            append_audit.hash := sha256(append_audit.hash || convert_to(line, 'UTF8'));
            numbers := numbers || append_audit.number;
            moments := moments || moment;
            lines := lines || line;
            hashes := hashes || append_audit.hash;
        END LOOP;
        INSERT INTO portico.audit_entry
            SELECT here, made.* FROM unnest(numbers, moments, lines, hashes) AS made;
        UPDATE portico.audit_head h
           SET number = append_audit.number, hash = append_audit.hash WHERE h.space_id = here;
    END
    $$;

ALTER FUNCTION portico.append_audit(acts text[], OUT number bigint, OUT hash bytea) OWNER TO portico_owner;

CREATE FUNCTION portico.append_event(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_topic text, topic_level smallint, topic_compartments text[], its_event uuid, its_type text, its_level smallint, its_compartments text[], its_facts json) RETURNS bigint
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

ALTER FUNCTION portico.append_event(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_topic text, topic_level smallint, topic_compartments text[], its_event uuid, its_type text, its_level smallint, its_compartments text[], its_facts json) OWNER TO portico_owner;

CREATE FUNCTION portico.append_events(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, entries json) RETURNS bigint[]
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

ALTER FUNCTION portico.append_events(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, entries json) OWNER TO portico_owner;

CREATE FUNCTION portico.drop_event_months(before timestamp with time zone) RETURNS integer
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$ SELECT portico.drop_months('event', before) $$;

ALTER FUNCTION portico.drop_event_months(before timestamp with time zone) OWNER TO portico_owner;

CREATE FUNCTION portico.drop_months(log text, before timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    SET lock_timeout TO '2s'
    SET "TimeZone" TO 'UTC'
    AS $_$
        DECLARE
            old text;
            dropped integer := 0;
        BEGIN
            IF log NOT IN ('event', 'tool_call') THEN
                RAISE EXCEPTION '% is not kept by months', log;
            END IF;
            FOR old IN
                SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                 WHERE i.inhparent = ('portico.' || log)::regclass
                   AND c.relname ~ ('^' || log || '_[0-9]{4}_[0-9]{2}$')
                   AND (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month')
                       AT TIME ZONE 'UTC' <= before
            LOOP
                EXECUTE format('DROP TABLE portico.%I', old);
                dropped := dropped + 1;
            END LOOP;
            RETURN dropped;
        END
    $_$;

ALTER FUNCTION portico.drop_months(log text, before timestamp with time zone) OWNER TO portico_owner;

CREATE FUNCTION portico.enter(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text) RETURNS void
    LANGUAGE sql
    AS $$
        SELECT set_config('portico.space', asking_space::text, true),
               set_config('portico.principal', asking::text, true),
               set_config('portico.level', asking_level::text, true),
               set_config('portico.compartments', asking_compartments, true)
    $$;

ALTER FUNCTION portico.enter(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text) OWNER TO portico_owner;

CREATE FUNCTION portico.find_api_key(wanted text) RETURNS TABLE(key_id text, space_id uuid, principal_id uuid, purpose text, key_name text, digest bytea, scopes text[], key_level smallint, key_compartments text[], key_tools text[], created_at timestamp with time zone, expires_at timestamp with time zone, last_used_at timestamp with time zone, revoked_at timestamp with time zone, kind text, name text, roles text[], grants text[], level smallint, compartments text[], tools text[], principal_created_at timestamp with time zone, disabled_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        SELECT k.key_id, k.space_id, k.principal_id, k.purpose, k.name, k.digest,
               k.scopes, k.level, k.compartments, k.tools,
               k.created_at, k.expires_at, k.last_used_at,
               k.revoked_at,
               p.kind, p.name, p.roles, p.grants, p.level, p.compartments,
               p.tools, p.created_at, p.disabled_at
          FROM portico.api_key k
          JOIN portico.principal p USING (space_id, principal_id)
         WHERE k.key_id = wanted
    $$;

ALTER FUNCTION portico.find_api_key(wanted text) OWNER TO portico_owner;

CREATE FUNCTION portico.find_login_attempt(wanted bytea, at timestamp with time zone) RETURNS TABLE(space_id uuid, principal_id uuid, server_id uuid, sealed bytea)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        SELECT a.space_id, a.principal_id, a.server_id, a.sealed
          FROM portico.login_attempt a
         WHERE a.digest = wanted AND a.expires_at > at
    $$;

ALTER FUNCTION portico.find_login_attempt(wanted bytea, at timestamp with time zone) OWNER TO portico_owner;

CREATE FUNCTION portico.finish_step(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_run uuid, its_claim uuid, its_name text, its_number integer, its_state text, its_output json, its_error json, its_due timestamp with time zone, its_start timestamp with time zone, its_end timestamp with time zone, its_topic text, its_event uuid, its_type text, its_facts json) RETURNS boolean
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

ALTER FUNCTION portico.finish_step(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_run uuid, its_claim uuid, its_name text, its_number integer, its_state text, its_output json, its_error json, its_due timestamp with time zone, its_start timestamp with time zone, its_end timestamp with time zone, its_topic text, its_event uuid, its_type text, its_facts json) OWNER TO portico_owner;

CREATE FUNCTION portico.prepare_event_months(ahead integer) RETURNS integer
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$ SELECT portico.prepare_months('event', ahead) $$;

ALTER FUNCTION portico.prepare_event_months(ahead integer) OWNER TO portico_owner;

CREATE FUNCTION portico.prepare_months(log text, ahead integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    SET lock_timeout TO '2s'
    SET "TimeZone" TO 'UTC'
    AS $$
        DECLARE
            start timestamptz;
            name text;
            made integer := 0;
        BEGIN
            IF log NOT IN ('event', 'tool_call') THEN
                RAISE EXCEPTION '% is not kept by months', log;
            END IF;
            FOR i IN 0 .. least(greatest(ahead, 0), 24) LOOP
                start := (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => i))
                         AT TIME ZONE 'UTC';
                name := log || '_' || to_char(start AT TIME ZONE 'UTC', 'YYYY_MM');
                CONTINUE WHEN to_regclass('portico.' || name) IS NOT NULL;
                BEGIN
                    EXECUTE format(
                        'CREATE TABLE portico.%I PARTITION OF portico.%I FOR VALUES FROM (%L) TO (%L)',
                        name, log, start,
                        (start AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC');
                EXCEPTION WHEN check_violation THEN
                    CONTINUE;  -- it has begun among what no month was made for, and stays there
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

ALTER FUNCTION portico.prepare_months(log text, ahead integer) OWNER TO portico_owner;

CREATE FUNCTION portico.runs_that_say(words text) RETURNS TABLE(run_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            most smallint := coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint;
            inside text[] := string_to_array(coalesce(current_setting('portico.compartments', true), ''), ',');
            wanted tsquery;
        BEGIN
            SELECT (string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || ''':*', ' & ')
                    || ' & ''~' || here::text || '''')::tsquery
              INTO wanted FROM unnest(to_tsvector('simple', left(words, 1000)));
            IF wanted IS NULL THEN
                RETURN;
            END IF;
            RETURN QUERY
            SELECT s.run_id FROM portico.agent_said s
             WHERE s.space_id = here AND s.level <= most AND s.compartments <@ inside
               AND (to_tsvector('simple', left(s.text, 100000)) || array_to_tsvector(ARRAY['~' || s.space_id::text])) @@ wanted
             UNION
            SELECT t.run_id FROM portico.agent_turn t
             WHERE t.space_id = here AND t.level <= most AND t.compartments <@ inside
               AND (to_tsvector('simple', left(t.text, 100000)) || array_to_tsvector(ARRAY['~' || t.space_id::text])) @@ wanted
             UNION
            SELECT u.run_id FROM portico.agent_tool_use u
             WHERE u.space_id = here AND u.level <= most AND u.compartments <@ inside
               AND (to_tsvector('simple', left(u.text, 100000)) || array_to_tsvector(ARRAY['~' || u.space_id::text])) @@ wanted;
        END
    $$;

ALTER FUNCTION portico.runs_that_say(words text) OWNER TO portico_owner;

CREATE FUNCTION portico.take_calls(subjects text[], most integer[], ahead integer[], waiting integer[], back integer[], back_slot bigint[], slot_seconds double precision, slots integer) RETURNS TABLE(subject text, granted integer, slot bigint, wait_seconds double precision)
    LANGUAGE plpgsql
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.take_calls(subjects text[], most integer[], ahead integer[], waiting integer[], back integer[], back_slot bigint[], slot_seconds double precision, slots integer) OWNER TO portico_owner;

CREATE FUNCTION portico.take_login_attempt(wanted bytea, at timestamp with time zone) RETURNS TABLE(space_id uuid, principal_id uuid, server_id uuid, sealed bytea)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        WITH gone AS (
            DELETE FROM portico.login_attempt a
             WHERE a.digest = wanted OR a.expires_at <= at
         RETURNING a.*
        )
        SELECT g.space_id, g.principal_id, g.server_id, g.sealed
          FROM gone g
         WHERE g.digest = wanted AND g.expires_at > at
    $$;

ALTER FUNCTION portico.take_login_attempt(wanted bytea, at timestamp with time zone) OWNER TO portico_owner;

CREATE FUNCTION portico.uncount_servers() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        BEGIN
            DELETE FROM portico.learnt_count AS c USING gone
             WHERE c.space_id = gone.space_id AND gone.server_id = ANY (c.servers);
            RETURN NULL;
        END
    $$;

ALTER FUNCTION portico.uncount_servers() OWNER TO portico_owner;

CREATE TABLE portico.acquaintance (
    space_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    server text NOT NULL,
    tool text NOT NULL,
    found_for text DEFAULT ''::text NOT NULL,
    found_at timestamp with time zone,
    calls double precision DEFAULT 0 NOT NULL,
    called_at timestamp with time zone
);

ALTER TABLE ONLY portico.acquaintance FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.acquaintance OWNER TO portico_owner;

CREATE TABLE portico.agent (
    space_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    name text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    version integer NOT NULL,
    spec json NOT NULL,
    made_by uuid NOT NULL,
    made_by_name text NOT NULL,
    made_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT agent_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT agent_name_check CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_-]{0,47}$'::text)),
    CONSTRAINT agent_spec_check CHECK ((json_typeof(spec) = 'object'::text)),
    CONSTRAINT agent_version_check CHECK ((version >= 1))
);

ALTER TABLE ONLY portico.agent FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.agent OWNER TO portico_owner;

COMMENT ON COLUMN portico.agent.principal_id IS 'who it is when it calls a tool';

CREATE TABLE portico.agent_run (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    agent_name text NOT NULL,
    agent_version integer NOT NULL,
    started_by uuid NOT NULL,
    acts_as uuid NOT NULL,
    context_id uuid NOT NULL,
    continues uuid,
    history json NOT NULL,
    status text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    stop_at timestamp with time zone,
    model text NOT NULL,
    turns integer NOT NULL,
    tool_uses integer NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    reported boolean NOT NULL,
    money numeric NOT NULL,
    answer text NOT NULL,
    error_code text,
    error text,
    trace_id text NOT NULL,
    CONSTRAINT agent_run_cached_tokens_check CHECK ((cached_tokens >= 0)),
    CONSTRAINT agent_run_history_check CHECK ((json_typeof(history) = 'array'::text)),
    CONSTRAINT agent_run_input_tokens_check CHECK ((input_tokens >= 0)),
    CONSTRAINT agent_run_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT agent_run_money_check CHECK ((money >= (0)::numeric)),
    CONSTRAINT agent_run_output_tokens_check CHECK ((output_tokens >= 0)),
    CONSTRAINT agent_run_status_check CHECK ((status = ANY (ARRAY['running'::text, 'waiting'::text, 'completed'::text, 'stopped'::text, 'exhausted'::text, 'failed'::text, 'cancelled'::text]))),
    CONSTRAINT agent_run_tool_uses_check CHECK ((tool_uses >= 0)),
    CONSTRAINT agent_run_trace_id_check CHECK ((trace_id ~ '^[0-9a-f]{32}$'::text)),
    CONSTRAINT agent_run_turns_check CHECK ((turns >= 0))
);

ALTER TABLE ONLY portico.agent_run FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_run OWNER TO portico_owner;

COMMENT ON COLUMN portico.agent_run.history IS 'what was said before, by the account of whoever started it';

COMMENT ON COLUMN portico.agent_run.stop_at IS 'when somebody said that it is to stop';

COMMENT ON COLUMN portico.agent_run.reported IS 'whether every server said how many tokens it took; the rest is what was counted here';

COMMENT ON COLUMN portico.agent_run.money IS 'US dollars';

CREATE TABLE portico.agent_said (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    number integer NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    text text NOT NULL,
    said_by uuid NOT NULL,
    said_at timestamp with time zone NOT NULL,
    CONSTRAINT agent_said_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT agent_said_number_check CHECK ((number >= 1))
);

ALTER TABLE ONLY portico.agent_said FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_said OWNER TO portico_owner;

CREATE TABLE portico.agent_tool_use (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    turn integer NOT NULL,
    place integer NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    call text NOT NULL,
    tool text NOT NULL,
    arguments json NOT NULL,
    text text NOT NULL,
    failed boolean NOT NULL,
    code text,
    approval_id uuid,
    early boolean NOT NULL,
    started_at timestamp with time zone NOT NULL,
    took interval NOT NULL,
    span_id text NOT NULL,
    CONSTRAINT agent_tool_use_arguments_check CHECK ((json_typeof(arguments) = 'object'::text)),
    CONSTRAINT agent_tool_use_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT agent_tool_use_place_check CHECK ((place >= 0)),
    CONSTRAINT agent_tool_use_span_id_check CHECK ((span_id ~ '^[0-9a-f]{16}$'::text)),
    CONSTRAINT agent_tool_use_turn_check CHECK ((turn >= 1))
);

ALTER TABLE ONLY portico.agent_tool_use FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_tool_use OWNER TO portico_owner;

CREATE TABLE portico.agent_turn (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    number integer NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    model text NOT NULL,
    attempts integer NOT NULL,
    heard integer NOT NULL,
    text text NOT NULL,
    thought text NOT NULL,
    calls json NOT NULL,
    kept json NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    reported boolean NOT NULL,
    counted bigint NOT NULL,
    money numeric NOT NULL,
    finish text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    took interval NOT NULL,
    first_piece interval,
    notes text[] NOT NULL,
    span_id text NOT NULL,
    CONSTRAINT agent_turn_calls_check CHECK ((json_typeof(calls) = 'array'::text)),
    CONSTRAINT agent_turn_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT agent_turn_number_check CHECK ((number >= 1)),
    CONSTRAINT agent_turn_span_id_check CHECK ((span_id ~ '^[0-9a-f]{16}$'::text))
);

ALTER TABLE ONLY portico.agent_turn FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_turn OWNER TO portico_owner;

COMMENT ON COLUMN portico.agent_turn.kept IS 'what the server of the model wants back with it, word for word';

COMMENT ON COLUMN portico.agent_turn.counted IS 'tokens that the budget was charged';

CREATE TABLE portico.agent_version (
    space_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    number integer NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    spec json NOT NULL,
    made_by uuid NOT NULL,
    made_by_name text NOT NULL,
    made_at timestamp with time zone NOT NULL,
    CONSTRAINT agent_version_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT agent_version_number_check CHECK ((number >= 1)),
    CONSTRAINT agent_version_spec_check CHECK ((json_typeof(spec) = 'object'::text))
);

ALTER TABLE ONLY portico.agent_version FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_version OWNER TO portico_owner;

CREATE TABLE portico.api_key (
    key_id text NOT NULL,
    space_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    purpose text NOT NULL,
    name text NOT NULL,
    digest bytea NOT NULL,
    scopes text[],
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    tools text[],
    elicits_for uuid,
    CONSTRAINT api_key_digest_check CHECK ((length(digest) = 32)),
    CONSTRAINT api_key_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT api_key_name_check CHECK (((length(name) >= 1) AND (length(name) <= 300))),
    CONSTRAINT api_key_purpose_check CHECK ((purpose = ANY (ARRAY['access'::text, 'invitation'::text]))),
    CONSTRAINT api_key_tools_check CHECK ((cardinality(tools) <= 200))
);

ALTER TABLE ONLY portico.api_key FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.api_key OWNER TO portico_owner;

CREATE TABLE portico.approval (
    space_id uuid NOT NULL,
    approval_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    asker text NOT NULL,
    asker_kind text NOT NULL,
    key_id text,
    named_context uuid,
    context_id uuid NOT NULL,
    action text NOT NULL,
    tool text NOT NULL,
    server text NOT NULL,
    effect text NOT NULL,
    pin text NOT NULL,
    launch text NOT NULL,
    hash text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    tainted boolean NOT NULL,
    arguments json NOT NULL,
    sealed bytea NOT NULL,
    marks json NOT NULL,
    before json NOT NULL,
    rule text NOT NULL,
    reason text NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    status text NOT NULL,
    answer text,
    answered_by uuid,
    answerer text,
    answered_via text,
    answered_at timestamp with time zone,
    answer_reason text,
    rule_made text,
    replaces uuid,
    replaced_by uuid,
    claimed_at timestamp with time zone,
    outcome text,
    ended_at timestamp with time zone,
    error text,
    result text,
    collected_at timestamp with time zone,
    resolved_by text,
    waiter_run uuid,
    waiter_topic text,
    waiter_level smallint,
    waiter_compartments text[],
    CONSTRAINT approval_answer_check CHECK ((answer = ANY (ARRAY['once'::text, 'run'::text, 'always'::text, 'reject'::text]))),
    CONSTRAINT approval_answer_reason_check CHECK ((length(answer_reason) <= 2000)),
    CONSTRAINT approval_asker_kind_check CHECK ((asker_kind = ANY (ARRAY['person'::text, 'agent'::text, 'worker'::text]))),
    CONSTRAINT approval_check CHECK (((status <> 'approved'::text) OR (answer = ANY (ARRAY['once'::text, 'run'::text, 'always'::text])))),
    CONSTRAINT approval_check1 CHECK (((claimed_at IS NULL) OR (status = 'approved'::text))),
    CONSTRAINT approval_check2 CHECK (((outcome IS NULL) OR (claimed_at IS NOT NULL))),
    CONSTRAINT approval_check3 CHECK ((num_nonnulls(waiter_run, waiter_topic, waiter_level, waiter_compartments) = ANY (ARRAY[0, 4]))),
    CONSTRAINT approval_hash_check CHECK ((length(hash) = 64)),
    CONSTRAINT approval_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT approval_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'failed'::text, 'uncertain'::text, 'skipped'::text]))),
    CONSTRAINT approval_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'approved'::text, 'rejected'::text, 'expired'::text, 'replaced'::text, 'withdrawn'::text]))),
    CONSTRAINT approval_waiter_level_check CHECK (((waiter_level >= 0) AND (waiter_level <= 3))),
    CONSTRAINT approval_waiter_topic_check CHECK (((length(waiter_topic) >= 1) AND (length(waiter_topic) <= 200)))
);

ALTER TABLE ONLY portico.approval FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.approval OWNER TO portico_owner;

CREATE TABLE portico.audit_entry (
    space_id uuid NOT NULL,
    number bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    entry text NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_entry_hash_check CHECK ((length(hash) = 32)),
    CONSTRAINT audit_entry_number_check CHECK ((number > 0))
);

ALTER TABLE ONLY portico.audit_entry FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.audit_entry OWNER TO portico_owner;

CREATE TABLE portico.audit_head (
    space_id uuid NOT NULL,
    number bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_head_hash_check CHECK ((length(hash) = 32))
);

ALTER TABLE ONLY portico.audit_head FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.audit_head OWNER TO portico_owner;

CREATE TABLE portico.budget (
    space_id uuid NOT NULL,
    name text NOT NULL,
    opened_at timestamp with time zone DEFAULT now() NOT NULL,
    cap_tokens bigint NOT NULL,
    cap_money numeric NOT NULL,
    cap_time interval NOT NULL,
    cap_calls bigint NOT NULL,
    held_tokens bigint DEFAULT 0 NOT NULL,
    held_money numeric DEFAULT 0 NOT NULL,
    held_time interval DEFAULT '00:00:00'::interval NOT NULL,
    held_calls bigint DEFAULT 0 NOT NULL,
    CONSTRAINT budget_cap_calls_check CHECK ((cap_calls >= 0)),
    CONSTRAINT budget_cap_money_check CHECK ((cap_money >= (0)::numeric)),
    CONSTRAINT budget_cap_time_check CHECK ((cap_time >= '00:00:00'::interval)),
    CONSTRAINT budget_cap_tokens_check CHECK ((cap_tokens >= 0)),
    CONSTRAINT budget_check CHECK (((held_tokens >= 0) AND (held_tokens <= cap_tokens))),
    CONSTRAINT budget_check1 CHECK (((held_money >= (0)::numeric) AND (held_money <= cap_money))),
    CONSTRAINT budget_check2 CHECK (((held_time >= '00:00:00'::interval) AND (held_time <= cap_time))),
    CONSTRAINT budget_check3 CHECK (((held_calls >= 0) AND (held_calls <= cap_calls))),
    CONSTRAINT budget_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

ALTER TABLE ONLY portico.budget FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.budget OWNER TO portico_owner;

COMMENT ON COLUMN portico.budget.held_tokens IS 'spent or reserved, as are the others of this name';

CREATE TABLE portico.budget_reservation (
    space_id uuid NOT NULL,
    budget text NOT NULL,
    name text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    tokens bigint NOT NULL,
    money numeric NOT NULL,
    "time" interval NOT NULL,
    calls bigint NOT NULL,
    CONSTRAINT budget_reservation_calls_check CHECK ((calls >= 0)),
    CONSTRAINT budget_reservation_money_check CHECK ((money >= (0)::numeric)),
    CONSTRAINT budget_reservation_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT budget_reservation_time_check CHECK (("time" >= '00:00:00'::interval)),
    CONSTRAINT budget_reservation_tokens_check CHECK ((tokens >= 0))
);

ALTER TABLE ONLY portico.budget_reservation FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.budget_reservation OWNER TO portico_owner;

CREATE TABLE portico.call_count (
    space_id uuid NOT NULL,
    subject text NOT NULL,
    slot bigint NOT NULL,
    taken integer[] NOT NULL,
    CONSTRAINT call_count_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 400)))
)
WITH (fillfactor='50');

ALTER TABLE ONLY portico.call_count FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.call_count OWNER TO portico_owner;

CREATE TABLE portico.companion (
    name text NOT NULL,
    version text NOT NULL,
    migrated_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE portico.companion OWNER TO portico_owner;

CREATE TABLE portico.embedding (
    space_id uuid NOT NULL,
    model text NOT NULL,
    content_key text NOT NULL,
    vector bytea NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT embedding_content_key_check CHECK (((length(content_key) >= 1) AND (length(content_key) <= 200))),
    CONSTRAINT embedding_model_check CHECK (((length(model) >= 1) AND (length(model) <= 300))),
    CONSTRAINT embedding_vector_check CHECK (((length(vector) % 4) = 0))
);
ALTER TABLE ONLY portico.embedding ALTER COLUMN vector SET STORAGE EXTERNAL;

ALTER TABLE ONLY portico.embedding FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.embedding OWNER TO portico_owner;

CREATE TABLE portico.event (
    space_id uuid NOT NULL,
    topic text NOT NULL,
    number bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    event_id uuid NOT NULL,
    type text NOT NULL,
    principal_id uuid,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    facts json NOT NULL,
    CONSTRAINT event_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT event_type_check CHECK (((length(type) >= 1) AND (length(type) <= 100)))
)
PARTITION BY RANGE (at);

ALTER TABLE ONLY portico.event FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.event OWNER TO portico_owner;

CREATE TABLE portico.event_other (
    space_id uuid CONSTRAINT event_space_id_not_null NOT NULL,
    topic text CONSTRAINT event_topic_not_null NOT NULL,
    number bigint CONSTRAINT event_number_not_null NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() CONSTRAINT event_at_not_null NOT NULL,
    event_id uuid CONSTRAINT event_event_id_not_null NOT NULL,
    type text CONSTRAINT event_type_not_null NOT NULL,
    principal_id uuid,
    level smallint CONSTRAINT event_level_not_null NOT NULL,
    compartments text[] DEFAULT '{}'::text[] CONSTRAINT event_compartments_not_null NOT NULL,
    facts json CONSTRAINT event_facts_not_null NOT NULL,
    CONSTRAINT event_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT event_type_check CHECK (((length(type) >= 1) AND (length(type) <= 100)))
);

ALTER TABLE ONLY portico.event_other FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.event_other OWNER TO portico_owner;

CREATE TABLE portico.learnt_count (
    space_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    kind text NOT NULL,
    key_hash bytea NOT NULL,
    key text NOT NULL,
    servers uuid[] NOT NULL,
    tried bigint NOT NULL,
    hit bigint NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    CONSTRAINT learnt_count_hit_check CHECK ((hit >= 0)),
    CONSTRAINT learnt_count_key_check CHECK (((length(key) >= 1) AND (length(key) <= 4000))),
    CONSTRAINT learnt_count_key_hash_check CHECK ((length(key_hash) = 32)),
    CONSTRAINT learnt_count_kind_check CHECK (((length(kind) >= 1) AND (length(kind) <= 32))),
    CONSTRAINT learnt_count_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT learnt_count_tried_check CHECK ((tried >= 0))
);

ALTER TABLE ONLY portico.learnt_count FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.learnt_count OWNER TO portico_owner;

CREATE TABLE portico.login (
    space_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    server_id uuid NOT NULL,
    sealed bytea NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY portico.login FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.login OWNER TO portico_owner;

CREATE TABLE portico.login_attempt (
    digest bytea NOT NULL,
    space_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    server_id uuid NOT NULL,
    sealed bytea NOT NULL,
    begun_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT login_attempt_digest_check CHECK ((length(digest) = 32))
);

ALTER TABLE ONLY portico.login_attempt FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.login_attempt OWNER TO portico_owner;

CREATE TABLE portico.login_client (
    space_id uuid NOT NULL,
    server_id uuid NOT NULL,
    settings jsonb NOT NULL,
    sealed bytea,
    CONSTRAINT login_client_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text))
);

ALTER TABLE ONLY portico.login_client FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.login_client OWNER TO portico_owner;

CREATE TABLE portico.past_plan (
    space_id uuid NOT NULL,
    plan_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    intent text NOT NULL,
    vector bytea NOT NULL,
    steps json NOT NULL,
    runs bigint NOT NULL,
    accepted bigint DEFAULT 0 NOT NULL,
    rejected bigint DEFAULT 0 NOT NULL,
    modified bigint DEFAULT 0 NOT NULL,
    last_at timestamp with time zone NOT NULL,
    CONSTRAINT past_plan_accepted_check CHECK ((accepted >= 0)),
    CONSTRAINT past_plan_intent_check CHECK (((length(intent) >= 1) AND (length(intent) <= 2000))),
    CONSTRAINT past_plan_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT past_plan_modified_check CHECK ((modified >= 0)),
    CONSTRAINT past_plan_rejected_check CHECK ((rejected >= 0)),
    CONSTRAINT past_plan_runs_check CHECK ((runs >= 0)),
    CONSTRAINT past_plan_steps_check CHECK ((octet_length((steps)::text) <= 65536))
);

ALTER TABLE ONLY portico.past_plan FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.past_plan OWNER TO portico_owner;

COMMENT ON COLUMN portico.past_plan.intent IS 'with a kind in the place of each value in it';

COMMENT ON COLUMN portico.past_plan.vector IS 'of the intent without its values: float32, little-endian';

COMMENT ON COLUMN portico.past_plan.steps IS 'tools by the ids of their servers, and where each argument came from; nobody''s values';

CREATE TABLE portico.policy_rule (
    space_id uuid NOT NULL,
    name text NOT NULL,
    ruling text NOT NULL,
    tools text[] NOT NULL,
    but text[] DEFAULT '{}'::text[] NOT NULL,
    who text[] DEFAULT '{}'::text[] NOT NULL,
    effects text[] DEFAULT '{}'::text[] NOT NULL,
    reads boolean DEFAULT false NOT NULL,
    tainted boolean DEFAULT false NOT NULL,
    upto_level smallint DEFAULT 0 NOT NULL,
    upto_compartments text[] DEFAULT '{}'::text[] NOT NULL,
    context_id uuid,
    expires_at timestamp with time zone,
    made_by text NOT NULL,
    made_at timestamp with time zone NOT NULL,
    approval_id uuid,
    CONSTRAINT policy_rule_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT policy_rule_ruling_check CHECK ((ruling = ANY (ARRAY['allow'::text, 'ask'::text, 'deny'::text]))),
    CONSTRAINT policy_rule_tools_check CHECK ((cardinality(tools) > 0)),
    CONSTRAINT policy_rule_upto_level_check CHECK (((upto_level >= 0) AND (upto_level <= 3)))
);

ALTER TABLE ONLY portico.policy_rule FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.policy_rule OWNER TO portico_owner;

CREATE TABLE portico.principal (
    space_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    roles text[] NOT NULL,
    grants text[] DEFAULT '{}'::text[] NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    disabled_at timestamp with time zone,
    tools text[],
    CONSTRAINT principal_kind_check CHECK ((kind = ANY (ARRAY['person'::text, 'agent'::text, 'worker'::text]))),
    CONSTRAINT principal_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT principal_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT principal_tools_check CHECK ((cardinality(tools) <= 200))
);

ALTER TABLE ONLY portico.principal FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.principal OWNER TO portico_owner;

CREATE TABLE portico.receipt (
    space_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    operation text NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL,
    body json,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT receipt_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255)))
);

ALTER TABLE ONLY portico.receipt FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.receipt OWNER TO portico_owner;

CREATE TABLE portico.run (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    kind text NOT NULL,
    fingerprint text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    clearance_level smallint NOT NULL,
    clearance_compartments text[] DEFAULT '{}'::text[] NOT NULL,
    scopes text[] DEFAULT '{}'::text[] NOT NULL,
    queue text NOT NULL,
    partition_key text,
    priority integer DEFAULT 0 NOT NULL,
    status text NOT NULL,
    leg integer DEFAULT 1 NOT NULL,
    claim uuid,
    executor text,
    attempts integer DEFAULT 0 NOT NULL,
    waits_for text[] DEFAULT '{}'::text[] NOT NULL,
    wakes_at timestamp with time zone,
    forked_from uuid,
    trace text,
    input json NOT NULL,
    result json,
    error json,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT run_clearance_level_check CHECK (((clearance_level >= 0) AND (clearance_level <= 3))),
    CONSTRAINT run_kind_check CHECK (((length(kind) >= 1) AND (length(kind) <= 100))),
    CONSTRAINT run_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT run_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'waiting'::text, 'done'::text, 'failed'::text, 'cancelled'::text, 'stuck'::text])))
);

ALTER TABLE ONLY portico.run FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.run OWNER TO portico_owner;

CREATE TABLE portico.run_signal (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    topic text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    principal_id uuid NOT NULL,
    payload json NOT NULL,
    sent_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT run_signal_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT run_signal_topic_check CHECK (((length(topic) >= 1) AND (length(topic) <= 200)))
);

ALTER TABLE ONLY portico.run_signal FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.run_signal OWNER TO portico_owner;

CREATE TABLE portico.run_step (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    name text NOT NULL,
    number integer NOT NULL,
    state text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    output json,
    error json,
    due_at timestamp with time zone,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT run_step_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT run_step_name_check CHECK (((length(name) >= 1) AND (length(name) <= 300))),
    CONSTRAINT run_step_state_check CHECK ((state = ANY (ARRAY['open'::text, 'done'::text, 'failed'::text])))
);

ALTER TABLE ONLY portico.run_step FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.run_step OWNER TO portico_owner;

CREATE TABLE portico.saved_workflow (
    space_id uuid NOT NULL,
    name text NOT NULL,
    plan json NOT NULL,
    description text NOT NULL,
    effect text NOT NULL,
    saved_by uuid NOT NULL,
    saved_by_name text NOT NULL,
    saved_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT saved_workflow_description_check CHECK ((length(description) <= 4000)),
    CONSTRAINT saved_workflow_name_check CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_-]{0,47}$'::text)),
    CONSTRAINT saved_workflow_plan_check CHECK ((json_typeof(plan) = 'object'::text))
);

ALTER TABLE ONLY portico.saved_workflow FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.saved_workflow OWNER TO portico_owner;

COMMENT ON COLUMN portico.saved_workflow.effect IS 'the worst of its steps when it was saved';

CREATE TABLE portico.schema_migration (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE portico.schema_migration OWNER TO portico_owner;

CREATE TABLE portico.server (
    space_id uuid NOT NULL,
    server_id uuid NOT NULL,
    name text NOT NULL,
    origin text NOT NULL,
    entry text,
    launch json NOT NULL,
    launch_pin text NOT NULL,
    enabled boolean NOT NULL,
    approved_launch_pin text,
    approved_launch json,
    approved_by text,
    approved_at timestamp with time zone,
    tools_accepted boolean NOT NULL,
    set_pin text,
    accepted_set_pin text,
    instructions text,
    accepted_instructions text,
    offers json NOT NULL,
    accepted_offers json NOT NULL,
    identity json,
    era text,
    timeout_seconds double precision,
    failure text,
    listed_at timestamp with time zone,
    gone_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    profile jsonb,
    unboxed jsonb,
    label_level smallint DEFAULT 0 NOT NULL,
    label_compartments text[] DEFAULT '{}'::text[] NOT NULL,
    clearance_level smallint DEFAULT 1 NOT NULL,
    clearance_compartments text[] DEFAULT '{}'::text[] NOT NULL,
    trusted boolean DEFAULT false NOT NULL,
    CONSTRAINT server_clearance_level_check CHECK (((clearance_level >= 0) AND (clearance_level <= 3))),
    CONSTRAINT server_entry_check CHECK (((length(entry) >= 1) AND (length(entry) <= 4096))),
    CONSTRAINT server_era_check CHECK ((era = ANY (ARRAY['modern'::text, 'legacy'::text]))),
    CONSTRAINT server_label_level_check CHECK (((label_level >= 0) AND (label_level <= 3))),
    CONSTRAINT server_name_check CHECK ((name ~ '^[a-z][a-z0-9-]{0,31}$'::text)),
    CONSTRAINT server_origin_check CHECK (((length(origin) >= 1) AND (length(origin) <= 4096))),
    CONSTRAINT server_profile_check CHECK ((jsonb_typeof(profile) = 'object'::text)),
    CONSTRAINT server_timeout_seconds_check CHECK ((timeout_seconds > (0)::double precision)),
    CONSTRAINT server_unboxed_check CHECK ((jsonb_typeof(unboxed) = 'object'::text))
);

ALTER TABLE ONLY portico.server FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.server OWNER TO portico_owner;

CREATE TABLE portico.setting (
    space_id uuid NOT NULL,
    name text NOT NULL,
    value jsonb NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT setting_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

ALTER TABLE ONLY portico.setting FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.setting OWNER TO portico_owner;

CREATE TABLE portico.space (
    space_id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT space_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

ALTER TABLE ONLY portico.space FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.space OWNER TO portico_owner;

CREATE TABLE portico.stream (
    space_id uuid NOT NULL,
    topic text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    first bigint DEFAULT 1 NOT NULL,
    last bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT stream_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT stream_topic_check CHECK (((length(topic) >= 1) AND (length(topic) <= 200)))
)
WITH (fillfactor='50');

ALTER TABLE ONLY portico.stream FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.stream OWNER TO portico_owner;

CREATE TABLE portico.suggestion (
    space_id uuid NOT NULL,
    suggestion_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    mode text NOT NULL,
    raw double precision NOT NULL,
    backing double precision NOT NULL,
    confidence double precision NOT NULL,
    past uuid[] NOT NULL,
    result_id uuid NOT NULL,
    made_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    run_id uuid,
    outcome text,
    settled_at timestamp with time zone,
    CONSTRAINT suggestion_backing_check CHECK (((backing >= (0)::double precision) AND (backing <= (1)::double precision))),
    CONSTRAINT suggestion_confidence_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision))),
    CONSTRAINT suggestion_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT suggestion_mode_check CHECK ((mode = ANY (ARRAY['explicit_required'::text, 'suggestion'::text, 'ran_ahead'::text]))),
    CONSTRAINT suggestion_outcome_check CHECK ((outcome = ANY (ARRAY['accepted'::text, 'rejected'::text, 'modified'::text])))
);

ALTER TABLE ONLY portico.suggestion FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.suggestion OWNER TO portico_owner;

COMMENT ON COLUMN portico.suggestion.raw IS 'how sure it was before that was calibrated';

COMMENT ON COLUMN portico.suggestion.backing IS 'as much of that as the runs behind it allowed';

COMMENT ON COLUMN portico.suggestion.past IS 'the past plans that it leans on';

CREATE TABLE portico.task_context (
    space_id uuid NOT NULL,
    context_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    name text,
    level smallint DEFAULT 0 NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    untrusted boolean DEFAULT false NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    CONSTRAINT task_context_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT task_context_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)))
);

ALTER TABLE ONLY portico.task_context FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.task_context OWNER TO portico_owner;

CREATE TABLE portico.token_subject (
    space_id uuid NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    principal_id uuid NOT NULL,
    CONSTRAINT token_subject_issuer_check CHECK (((length(issuer) >= 1) AND (length(issuer) <= 1000))),
    CONSTRAINT token_subject_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 300)))
);

ALTER TABLE ONLY portico.token_subject FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.token_subject OWNER TO portico_owner;

CREATE TABLE portico.tool (
    space_id uuid NOT NULL,
    server_id uuid NOT NULL,
    name text NOT NULL,
    "position" integer NOT NULL,
    definition json NOT NULL,
    pin text NOT NULL,
    tokens integer NOT NULL,
    effect text NOT NULL,
    accepted_definition json,
    accepted_pin text,
    refused text,
    gone boolean NOT NULL,
    CONSTRAINT tool_check CHECK (((accepted_definition IS NOT NULL) = ((accepted_pin IS NOT NULL) AND (accepted_pin <> pin)))),
    CONSTRAINT tool_effect_check CHECK ((effect = ANY (ARRAY['pure'::text, 'local_read'::text, 'external_read'::text, 'local_write'::text, 'external_write'::text, 'irreversible'::text, 'unknown'::text]))),
    CONSTRAINT tool_name_check CHECK ((length(name) > 0)),
    CONSTRAINT tool_tokens_check CHECK ((tokens >= 0))
);

ALTER TABLE ONLY portico.tool FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool OWNER TO portico_owner;

CREATE TABLE portico.tool_call (
    space_id uuid NOT NULL,
    call_id uuid NOT NULL,
    started_at timestamp with time zone NOT NULL,
    principal_id uuid NOT NULL,
    server text NOT NULL,
    tool text NOT NULL,
    effect text NOT NULL,
    pin text NOT NULL,
    arguments json NOT NULL,
    due_at timestamp with time zone,
    incarnation text NOT NULL,
    took interval,
    outcome text,
    error text,
    bytes_out bigint NOT NULL,
    context_id uuid,
    level smallint DEFAULT 0 NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT tool_call_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT tool_call_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'failed'::text, 'broken'::text, 'timed_out'::text, 'cancelled'::text, 'uncertain'::text])))
)
PARTITION BY RANGE (started_at);

ALTER TABLE ONLY portico.tool_call FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_call OWNER TO portico_owner;

CREATE TABLE portico.tool_call_other (
    space_id uuid CONSTRAINT tool_call_space_id_not_null NOT NULL,
    call_id uuid CONSTRAINT tool_call_call_id_not_null NOT NULL,
    started_at timestamp with time zone CONSTRAINT tool_call_started_at_not_null NOT NULL,
    principal_id uuid CONSTRAINT tool_call_principal_id_not_null NOT NULL,
    server text CONSTRAINT tool_call_server_not_null NOT NULL,
    tool text CONSTRAINT tool_call_tool_not_null NOT NULL,
    effect text CONSTRAINT tool_call_effect_not_null NOT NULL,
    pin text CONSTRAINT tool_call_pin_not_null NOT NULL,
    arguments json CONSTRAINT tool_call_arguments_not_null NOT NULL,
    due_at timestamp with time zone,
    incarnation text CONSTRAINT tool_call_incarnation_not_null NOT NULL,
    took interval,
    outcome text,
    error text,
    bytes_out bigint CONSTRAINT tool_call_bytes_out_not_null NOT NULL,
    context_id uuid,
    level smallint DEFAULT 0 CONSTRAINT tool_call_level_not_null NOT NULL,
    compartments text[] DEFAULT '{}'::text[] CONSTRAINT tool_call_compartments_not_null NOT NULL,
    CONSTRAINT tool_call_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT tool_call_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'failed'::text, 'broken'::text, 'timed_out'::text, 'cancelled'::text, 'uncertain'::text])))
);

ALTER TABLE ONLY portico.tool_call_other FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_call_other OWNER TO portico_owner;

CREATE TABLE portico.tool_edge (
    space_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    earlier_id uuid NOT NULL,
    earlier_tool text NOT NULL,
    later_id uuid NOT NULL,
    later_tool text NOT NULL,
    kind text NOT NULL,
    times bigint NOT NULL,
    tasks bigint NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    CONSTRAINT tool_edge_check CHECK (((tasks >= 0) AND (tasks <= times))),
    CONSTRAINT tool_edge_earlier_tool_check CHECK ((length(earlier_tool) > 0)),
    CONSTRAINT tool_edge_kind_check CHECK ((kind = ANY (ARRAY['follows'::text, 'feeds'::text]))),
    CONSTRAINT tool_edge_later_tool_check CHECK ((length(later_tool) > 0)),
    CONSTRAINT tool_edge_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT tool_edge_times_check CHECK ((times > 0))
);

ALTER TABLE ONLY portico.tool_edge FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_edge OWNER TO portico_owner;

CREATE TABLE portico.tool_flow (
    space_id uuid NOT NULL,
    producer_id uuid NOT NULL,
    producer_tool text NOT NULL,
    path text NOT NULL,
    consumer_id uuid NOT NULL,
    consumer_tool text NOT NULL,
    parameter text NOT NULL,
    times bigint NOT NULL,
    CONSTRAINT tool_flow_consumer_tool_check CHECK ((length(consumer_tool) > 0)),
    CONSTRAINT tool_flow_parameter_check CHECK (((length(parameter) >= 1) AND (length(parameter) <= 200))),
    CONSTRAINT tool_flow_path_check CHECK ((length(path) <= 500)),
    CONSTRAINT tool_flow_producer_tool_check CHECK ((length(producer_tool) > 0)),
    CONSTRAINT tool_flow_times_check CHECK ((times > 0))
);

ALTER TABLE ONLY portico.tool_flow FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_flow OWNER TO portico_owner;

CREATE TABLE portico.tool_result (
    space_id uuid NOT NULL,
    result_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    level smallint DEFAULT 0 NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    untrusted boolean DEFAULT true NOT NULL,
    sealed bytea NOT NULL,
    CONSTRAINT tool_result_level_check CHECK (((level >= 0) AND (level <= 3)))
);
ALTER TABLE ONLY portico.tool_result ALTER COLUMN sealed SET STORAGE EXTERNAL;

ALTER TABLE ONLY portico.tool_result FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_result OWNER TO portico_owner;

CREATE TABLE portico.tool_shape (
    space_id uuid NOT NULL,
    server_id uuid NOT NULL,
    tool text NOT NULL,
    pin text NOT NULL,
    seen bigint NOT NULL,
    shape json NOT NULL,
    CONSTRAINT tool_shape_seen_check CHECK ((seen >= 0)),
    CONSTRAINT tool_shape_tool_check CHECK ((length(tool) > 0))
);

ALTER TABLE ONLY portico.tool_shape FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_shape OWNER TO portico_owner;

ALTER TABLE ONLY portico.event ATTACH PARTITION portico.event_other DEFAULT;

ALTER TABLE ONLY portico.tool_call ATTACH PARTITION portico.tool_call_other DEFAULT;

ALTER TABLE ONLY portico.acquaintance
    ADD CONSTRAINT acquaintance_pkey PRIMARY KEY (space_id, principal_id, server, tool);

ALTER TABLE ONLY portico.agent
    ADD CONSTRAINT agent_pkey PRIMARY KEY (space_id, agent_id);

ALTER TABLE ONLY portico.agent_run
    ADD CONSTRAINT agent_run_pkey PRIMARY KEY (space_id, run_id);

ALTER TABLE ONLY portico.agent_said
    ADD CONSTRAINT agent_said_pkey PRIMARY KEY (space_id, run_id, number);

ALTER TABLE ONLY portico.agent
    ADD CONSTRAINT agent_space_id_name_key UNIQUE (space_id, name);

ALTER TABLE ONLY portico.agent_tool_use
    ADD CONSTRAINT agent_tool_use_pkey PRIMARY KEY (space_id, run_id, turn, place);

ALTER TABLE ONLY portico.agent_turn
    ADD CONSTRAINT agent_turn_pkey PRIMARY KEY (space_id, run_id, number);

ALTER TABLE ONLY portico.agent_version
    ADD CONSTRAINT agent_version_pkey PRIMARY KEY (space_id, agent_id, number);

ALTER TABLE ONLY portico.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (key_id);

ALTER TABLE ONLY portico.approval
    ADD CONSTRAINT approval_pkey PRIMARY KEY (space_id, approval_id);

ALTER TABLE ONLY portico.audit_entry
    ADD CONSTRAINT audit_entry_pkey PRIMARY KEY (space_id, number);

ALTER TABLE ONLY portico.audit_head
    ADD CONSTRAINT audit_head_pkey PRIMARY KEY (space_id);

ALTER TABLE ONLY portico.budget
    ADD CONSTRAINT budget_pkey PRIMARY KEY (space_id, name);

ALTER TABLE ONLY portico.budget_reservation
    ADD CONSTRAINT budget_reservation_pkey PRIMARY KEY (space_id, budget, name);

ALTER TABLE ONLY portico.call_count
    ADD CONSTRAINT call_count_pkey PRIMARY KEY (space_id, subject);

ALTER TABLE ONLY portico.companion
    ADD CONSTRAINT companion_pkey PRIMARY KEY (name);

ALTER TABLE ONLY portico.embedding
    ADD CONSTRAINT embedding_pkey PRIMARY KEY (space_id, model, content_key);

ALTER TABLE ONLY portico.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (space_id, topic, number, at);

ALTER TABLE ONLY portico.event_other
    ADD CONSTRAINT event_other_pkey PRIMARY KEY (space_id, topic, number, at);

ALTER TABLE ONLY portico.learnt_count
    ADD CONSTRAINT learnt_count_pkey PRIMARY KEY (space_id, level, compartments, kind, key_hash);

ALTER TABLE ONLY portico.login_attempt
    ADD CONSTRAINT login_attempt_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY portico.login_client
    ADD CONSTRAINT login_client_pkey PRIMARY KEY (space_id, server_id);

ALTER TABLE ONLY portico.login
    ADD CONSTRAINT login_pkey PRIMARY KEY (space_id, principal_id, server_id);

ALTER TABLE ONLY portico.past_plan
    ADD CONSTRAINT past_plan_pkey PRIMARY KEY (space_id, plan_id);

ALTER TABLE ONLY portico.policy_rule
    ADD CONSTRAINT policy_rule_pkey PRIMARY KEY (space_id, name);

ALTER TABLE ONLY portico.principal
    ADD CONSTRAINT principal_pkey PRIMARY KEY (space_id, principal_id);

ALTER TABLE ONLY portico.principal
    ADD CONSTRAINT principal_space_id_name_key UNIQUE (space_id, name);

ALTER TABLE ONLY portico.receipt
    ADD CONSTRAINT receipt_pkey PRIMARY KEY (space_id, principal_id, operation, key);

ALTER TABLE ONLY portico.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (space_id, run_id);

ALTER TABLE ONLY portico.run
    ADD CONSTRAINT run_run_id_key UNIQUE (run_id);

ALTER TABLE ONLY portico.run_signal
    ADD CONSTRAINT run_signal_pkey PRIMARY KEY (space_id, run_id, topic);

ALTER TABLE ONLY portico.run_step
    ADD CONSTRAINT run_step_pkey PRIMARY KEY (space_id, run_id, name);

ALTER TABLE ONLY portico.saved_workflow
    ADD CONSTRAINT saved_workflow_pkey PRIMARY KEY (space_id, name);

ALTER TABLE ONLY portico.schema_migration
    ADD CONSTRAINT schema_migration_pkey PRIMARY KEY (number);

ALTER TABLE ONLY portico.server
    ADD CONSTRAINT server_pkey PRIMARY KEY (space_id, server_id);

ALTER TABLE ONLY portico.server
    ADD CONSTRAINT server_space_id_name_key UNIQUE (space_id, name);

ALTER TABLE ONLY portico.server
    ADD CONSTRAINT server_space_id_origin_entry_key UNIQUE (space_id, origin, entry);

ALTER TABLE ONLY portico.setting
    ADD CONSTRAINT setting_pkey PRIMARY KEY (space_id, name);

ALTER TABLE ONLY portico.space
    ADD CONSTRAINT space_pkey PRIMARY KEY (space_id);

ALTER TABLE ONLY portico.stream
    ADD CONSTRAINT stream_pkey PRIMARY KEY (space_id, topic);

ALTER TABLE ONLY portico.suggestion
    ADD CONSTRAINT suggestion_pkey PRIMARY KEY (space_id, suggestion_id);

ALTER TABLE ONLY portico.task_context
    ADD CONSTRAINT task_context_pkey PRIMARY KEY (space_id, context_id);

ALTER TABLE ONLY portico.token_subject
    ADD CONSTRAINT token_subject_pkey PRIMARY KEY (space_id, issuer, subject);

ALTER TABLE ONLY portico.tool_call
    ADD CONSTRAINT tool_call_pkey PRIMARY KEY (space_id, call_id, started_at);

ALTER TABLE ONLY portico.tool_call_other
    ADD CONSTRAINT tool_call_other_pkey PRIMARY KEY (space_id, call_id, started_at);

ALTER TABLE ONLY portico.tool_edge
    ADD CONSTRAINT tool_edge_pkey PRIMARY KEY (space_id, earlier_id, earlier_tool, later_id, later_tool, kind, level, compartments);

ALTER TABLE ONLY portico.tool_flow
    ADD CONSTRAINT tool_flow_pkey PRIMARY KEY (space_id, consumer_id, consumer_tool, parameter, producer_id, producer_tool, path);

ALTER TABLE ONLY portico.tool
    ADD CONSTRAINT tool_pkey PRIMARY KEY (space_id, server_id, name);

ALTER TABLE ONLY portico.tool_result
    ADD CONSTRAINT tool_result_pkey PRIMARY KEY (space_id, result_id);

ALTER TABLE ONLY portico.tool_shape
    ADD CONSTRAINT tool_shape_pkey PRIMARY KEY (space_id, server_id, tool);

CREATE INDEX agent_run_by_age ON portico.agent_run USING btree (started_at);

CREATE INDEX agent_run_by_agent ON portico.agent_run USING btree (space_id, agent_name, started_at, run_id);

CREATE INDEX agent_run_by_starter ON portico.agent_run USING btree (space_id, started_by, started_at, run_id);

CREATE INDEX agent_run_newest ON portico.agent_run USING btree (space_id, started_at, run_id);

CREATE INDEX agent_said_words ON portico.agent_said USING gin (((to_tsvector('simple'::regconfig, "left"(text, 100000)) || array_to_tsvector(ARRAY[('~'::text || (space_id)::text)]))));

CREATE INDEX agent_tool_use_words ON portico.agent_tool_use USING gin (((to_tsvector('simple'::regconfig, "left"(text, 100000)) || array_to_tsvector(ARRAY[('~'::text || (space_id)::text)]))));

CREATE INDEX agent_turn_words ON portico.agent_turn USING gin (((to_tsvector('simple'::regconfig, "left"(text, 100000)) || array_to_tsvector(ARRAY[('~'::text || (space_id)::text)]))));

CREATE INDEX api_key_by_age ON portico.api_key USING btree (space_id, created_at, key_id);

CREATE INDEX api_key_by_principal ON portico.api_key USING btree (space_id, principal_id);

CREATE INDEX approval_by_age ON portico.approval USING btree (asked_at);

CREATE INDEX approval_by_call ON portico.approval USING btree (space_id, principal_id, context_id, hash, approval_id);

CREATE INDEX approval_of_run ON portico.approval USING btree (space_id, waiter_run) WHERE (waiter_run IS NOT NULL);

CREATE UNIQUE INDEX approval_of_waiter ON portico.approval USING btree (space_id, waiter_run, waiter_topic) WHERE ((replaces IS NULL) AND (waiter_run IS NOT NULL));

CREATE UNIQUE INDEX approval_open ON portico.approval USING btree (space_id, principal_id, context_id, hash) WHERE ((status = ANY (ARRAY['waiting'::text, 'approved'::text])) AND (collected_at IS NULL) AND ((outcome IS NULL) OR (outcome = 'uncertain'::text)) AND (waiter_run IS NULL));

CREATE INDEX approval_waiting ON portico.approval USING btree (space_id, principal_id) WHERE (status = 'waiting'::text);

CREATE INDEX login_attempt_by_age ON portico.login_attempt USING btree (expires_at);

CREATE INDEX login_attempt_by_place ON portico.login_attempt USING btree (space_id, principal_id, server_id, begun_at);

CREATE INDEX past_plan_by_age ON portico.past_plan USING btree (space_id, principal_id, last_at);

CREATE INDEX receipt_by_age ON portico.receipt USING btree (created_at);

CREATE INDEX run_by_age ON portico.run USING btree (space_id, created_at, run_id);

CREATE INDEX run_finished ON portico.run USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX run_in_flight ON portico.run USING btree (changed_at) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));

CREATE INDEX run_wakes ON portico.run USING btree (wakes_at) WHERE ((status = 'waiting'::text) AND (wakes_at IS NOT NULL));

CREATE INDEX suggestion_by_age ON portico.suggestion USING btree (made_at);

CREATE INDEX suggestion_by_run ON portico.suggestion USING btree (space_id, run_id) WHERE (run_id IS NOT NULL);

CREATE INDEX suggestion_latest ON portico.suggestion USING btree (space_id, principal_id, made_at);

CREATE INDEX task_context_by_principal ON portico.task_context USING btree (space_id, principal_id, opened_at);

CREATE INDEX tool_call_by_age ON ONLY portico.tool_call USING btree (space_id, started_at);

CREATE INDEX tool_call_by_principal ON ONLY portico.tool_call USING btree (space_id, principal_id, started_at);

CREATE INDEX tool_call_by_tool ON ONLY portico.tool_call USING btree (space_id, server, tool, started_at);

CREATE INDEX tool_call_other_space_id_principal_id_started_at_idx ON portico.tool_call_other USING btree (space_id, principal_id, started_at);

CREATE INDEX tool_call_other_space_id_server_tool_started_at_idx ON portico.tool_call_other USING btree (space_id, server, tool, started_at);

CREATE INDEX tool_call_other_space_id_started_at_idx ON portico.tool_call_other USING btree (space_id, started_at);

CREATE INDEX tool_edge_by_later ON portico.tool_edge USING btree (space_id, later_id);

CREATE INDEX tool_flow_by_producer ON portico.tool_flow USING btree (space_id, producer_id);

CREATE INDEX tool_result_by_age ON portico.tool_result USING btree (expires_at);

ALTER INDEX portico.event_pkey ATTACH PARTITION portico.event_other_pkey;

ALTER INDEX portico.tool_call_pkey ATTACH PARTITION portico.tool_call_other_pkey;

ALTER INDEX portico.tool_call_by_principal ATTACH PARTITION portico.tool_call_other_space_id_principal_id_started_at_idx;

ALTER INDEX portico.tool_call_by_tool ATTACH PARTITION portico.tool_call_other_space_id_server_tool_started_at_idx;

ALTER INDEX portico.tool_call_by_age ATTACH PARTITION portico.tool_call_other_space_id_started_at_idx;

CREATE TRIGGER uncounted AFTER DELETE ON portico.server REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION portico.uncount_servers();

ALTER TABLE ONLY portico.acquaintance
    ADD CONSTRAINT acquaintance_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.agent_run
    ADD CONSTRAINT agent_run_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.agent_said
    ADD CONSTRAINT agent_said_space_id_run_id_fkey FOREIGN KEY (space_id, run_id) REFERENCES portico.agent_run(space_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.agent
    ADD CONSTRAINT agent_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.agent_tool_use
    ADD CONSTRAINT agent_tool_use_space_id_run_id_fkey FOREIGN KEY (space_id, run_id) REFERENCES portico.agent_run(space_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.agent_turn
    ADD CONSTRAINT agent_turn_space_id_run_id_fkey FOREIGN KEY (space_id, run_id) REFERENCES portico.agent_run(space_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.agent_version
    ADD CONSTRAINT agent_version_space_id_agent_id_fkey FOREIGN KEY (space_id, agent_id) REFERENCES portico.agent(space_id, agent_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.api_key
    ADD CONSTRAINT api_key_space_id_elicits_for_fkey FOREIGN KEY (space_id, elicits_for) REFERENCES portico.principal(space_id, principal_id) ON DELETE SET NULL (elicits_for);

ALTER TABLE ONLY portico.api_key
    ADD CONSTRAINT api_key_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.approval
    ADD CONSTRAINT approval_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.audit_entry
    ADD CONSTRAINT audit_entry_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.audit_head
    ADD CONSTRAINT audit_head_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.budget_reservation
    ADD CONSTRAINT budget_reservation_space_id_budget_fkey FOREIGN KEY (space_id, budget) REFERENCES portico.budget(space_id, name) ON DELETE CASCADE;

ALTER TABLE ONLY portico.budget
    ADD CONSTRAINT budget_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.call_count
    ADD CONSTRAINT call_count_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.embedding
    ADD CONSTRAINT embedding_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE portico.event
    ADD CONSTRAINT event_space_id_topic_fkey FOREIGN KEY (space_id, topic) REFERENCES portico.stream(space_id, topic) ON DELETE CASCADE;

ALTER TABLE ONLY portico.learnt_count
    ADD CONSTRAINT learnt_count_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.login_attempt
    ADD CONSTRAINT login_attempt_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.login_attempt
    ADD CONSTRAINT login_attempt_space_id_server_id_fkey FOREIGN KEY (space_id, server_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.login_client
    ADD CONSTRAINT login_client_space_id_server_id_fkey FOREIGN KEY (space_id, server_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.login
    ADD CONSTRAINT login_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.login
    ADD CONSTRAINT login_space_id_server_id_fkey FOREIGN KEY (space_id, server_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.past_plan
    ADD CONSTRAINT past_plan_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.policy_rule
    ADD CONSTRAINT policy_rule_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.principal
    ADD CONSTRAINT principal_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.receipt
    ADD CONSTRAINT receipt_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.run_signal
    ADD CONSTRAINT run_signal_space_id_run_id_fkey FOREIGN KEY (space_id, run_id) REFERENCES portico.run(space_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.run
    ADD CONSTRAINT run_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.run_step
    ADD CONSTRAINT run_step_space_id_run_id_fkey FOREIGN KEY (space_id, run_id) REFERENCES portico.run(space_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.saved_workflow
    ADD CONSTRAINT saved_workflow_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.server
    ADD CONSTRAINT server_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.setting
    ADD CONSTRAINT setting_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.stream
    ADD CONSTRAINT stream_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.suggestion
    ADD CONSTRAINT suggestion_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.task_context
    ADD CONSTRAINT task_context_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.token_subject
    ADD CONSTRAINT token_subject_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE portico.tool_call
    ADD CONSTRAINT tool_call_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool_edge
    ADD CONSTRAINT tool_edge_space_id_earlier_id_fkey FOREIGN KEY (space_id, earlier_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool_edge
    ADD CONSTRAINT tool_edge_space_id_later_id_fkey FOREIGN KEY (space_id, later_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool_flow
    ADD CONSTRAINT tool_flow_space_id_consumer_id_fkey FOREIGN KEY (space_id, consumer_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool_flow
    ADD CONSTRAINT tool_flow_space_id_producer_id_fkey FOREIGN KEY (space_id, producer_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool_result
    ADD CONSTRAINT tool_result_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool_shape
    ADD CONSTRAINT tool_shape_space_id_server_id_fkey FOREIGN KEY (space_id, server_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool
    ADD CONSTRAINT tool_space_id_server_id_fkey FOREIGN KEY (space_id, server_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE portico.acquaintance ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.agent ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_run ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_said ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_tool_use ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_turn ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_version ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.api_key ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.approval ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.audit_entry ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.audit_head ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.budget ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.budget_reservation ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.call_count ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.embedding ENABLE ROW LEVEL SECURITY;

CREATE POLICY engine_door ON portico.agent_run TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.approval TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.event TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.learnt_count TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.past_plan TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.receipt TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.run TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.stream TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.suggestion TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.tool_call TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.tool_edge TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.tool_result TO portico_engine USING (true) WITH CHECK (true);

ALTER TABLE portico.event ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.event_other ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.learnt_count ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.login ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.login_attempt ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.login_client ENABLE ROW LEVEL SECURITY;

CREATE POLICY owner_door ON portico.acquaintance TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.agent TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.agent_run TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.agent_said TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.agent_tool_use TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.agent_turn TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.agent_version TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.api_key TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.approval TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.audit_entry TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.audit_head TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.budget TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.budget_reservation TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.call_count TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.embedding TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.event TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.event_other TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.learnt_count TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.login TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.login_attempt TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.login_client TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.past_plan TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.policy_rule TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.principal TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.receipt TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.run TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.run_signal TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.run_step TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.saved_workflow TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.server TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.setting TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.space TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.stream TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.suggestion TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.task_context TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.token_subject TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool_call TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool_call_other TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool_edge TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool_flow TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool_result TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool_shape TO portico_owner USING (true) WITH CHECK (true);

ALTER TABLE portico.past_plan ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.policy_rule ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.principal ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.receipt ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.run ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.run_signal ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.run_step ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.saved_workflow ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.server ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.setting ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.space ENABLE ROW LEVEL SECURITY;

CREATE POLICY space_wall ON portico.acquaintance USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.agent USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.agent_run USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.agent_said USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.agent_tool_use USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.agent_turn USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.agent_version USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.api_key USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.approval USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.audit_entry USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.audit_head USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.budget USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.budget_reservation USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.call_count USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.embedding USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.event USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.event_other USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.learnt_count USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.login USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.login_attempt USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.login_client USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.past_plan USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.policy_rule USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.principal USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.receipt USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.run USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.run_signal USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.run_step USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.saved_workflow USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.server USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.setting USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.space USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.stream USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.suggestion USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.task_context USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.token_subject USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.tool USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.tool_call USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.tool_call_other USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.tool_edge USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.tool_flow USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.tool_result USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.tool_shape USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

ALTER TABLE portico.stream ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.suggestion ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.task_context ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.token_subject ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_call ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_call_other ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_edge ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_flow ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_result ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_shape ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA portico TO portico_app;
GRANT USAGE ON SCHEMA portico TO portico_engine;

REVOKE ALL ON FUNCTION portico.append_audit(acts text[], OUT number bigint, OUT hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.append_audit(acts text[], OUT number bigint, OUT hash bytea) TO portico_app;

REVOKE ALL ON FUNCTION portico.append_event(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_topic text, topic_level smallint, topic_compartments text[], its_event uuid, its_type text, its_level smallint, its_compartments text[], its_facts json) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.append_event(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_topic text, topic_level smallint, topic_compartments text[], its_event uuid, its_type text, its_level smallint, its_compartments text[], its_facts json) TO portico_app;

REVOKE ALL ON FUNCTION portico.append_events(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, entries json) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.append_events(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, entries json) TO portico_app;

REVOKE ALL ON FUNCTION portico.drop_event_months(before timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.drop_event_months(before timestamp with time zone) TO portico_engine;

REVOKE ALL ON FUNCTION portico.drop_months(log text, before timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.drop_months(log text, before timestamp with time zone) TO portico_engine;

REVOKE ALL ON FUNCTION portico.enter(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.enter(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text) TO portico_app;

REVOKE ALL ON FUNCTION portico.find_api_key(wanted text) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.find_api_key(wanted text) TO portico_app;

REVOKE ALL ON FUNCTION portico.find_login_attempt(wanted bytea, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.find_login_attempt(wanted bytea, at timestamp with time zone) TO portico_app;

REVOKE ALL ON FUNCTION portico.finish_step(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_run uuid, its_claim uuid, its_name text, its_number integer, its_state text, its_output json, its_error json, its_due timestamp with time zone, its_start timestamp with time zone, its_end timestamp with time zone, its_topic text, its_event uuid, its_type text, its_facts json) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.finish_step(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_run uuid, its_claim uuid, its_name text, its_number integer, its_state text, its_output json, its_error json, its_due timestamp with time zone, its_start timestamp with time zone, its_end timestamp with time zone, its_topic text, its_event uuid, its_type text, its_facts json) TO portico_app;

REVOKE ALL ON FUNCTION portico.prepare_event_months(ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.prepare_event_months(ahead integer) TO portico_engine;

REVOKE ALL ON FUNCTION portico.prepare_months(log text, ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.prepare_months(log text, ahead integer) TO portico_engine;

REVOKE ALL ON FUNCTION portico.runs_that_say(words text) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.runs_that_say(words text) TO portico_app;

REVOKE ALL ON FUNCTION portico.take_calls(subjects text[], most integer[], ahead integer[], waiting integer[], back integer[], back_slot bigint[], slot_seconds double precision, slots integer) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.take_calls(subjects text[], most integer[], ahead integer[], waiting integer[], back integer[], back_slot bigint[], slot_seconds double precision, slots integer) TO portico_app;

REVOKE ALL ON FUNCTION portico.take_login_attempt(wanted bytea, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.take_login_attempt(wanted bytea, at timestamp with time zone) TO portico_app;

REVOKE ALL ON FUNCTION portico.uncount_servers() FROM PUBLIC;

GRANT SELECT,INSERT ON TABLE portico.acquaintance TO portico_app;

GRANT UPDATE(found_for) ON TABLE portico.acquaintance TO portico_app;

GRANT UPDATE(found_at) ON TABLE portico.acquaintance TO portico_app;

GRANT UPDATE(calls) ON TABLE portico.acquaintance TO portico_app;

GRANT UPDATE(called_at) ON TABLE portico.acquaintance TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.agent TO portico_app;

GRANT UPDATE(name) ON TABLE portico.agent TO portico_app;

GRANT UPDATE(level) ON TABLE portico.agent TO portico_app;

GRANT UPDATE(compartments) ON TABLE portico.agent TO portico_app;

GRANT UPDATE(version) ON TABLE portico.agent TO portico_app;

GRANT UPDATE(spec) ON TABLE portico.agent TO portico_app;

GRANT UPDATE(changed_at) ON TABLE portico.agent TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.agent_run TO portico_app;
GRANT DELETE ON TABLE portico.agent_run TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.agent_run TO portico_engine;

GRANT SELECT(run_id) ON TABLE portico.agent_run TO portico_engine;

GRANT UPDATE(status) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(level) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(compartments) ON TABLE portico.agent_run TO portico_app;

GRANT SELECT(started_at) ON TABLE portico.agent_run TO portico_engine;

GRANT UPDATE(ended_at) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(stop_at) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(turns) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(tool_uses) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(input_tokens) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(output_tokens) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(cached_tokens) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(reported) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(money) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(answer) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(error_code) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(error) ON TABLE portico.agent_run TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.agent_said TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.agent_tool_use TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.agent_turn TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.agent_version TO portico_app;

GRANT INSERT ON TABLE portico.api_key TO portico_app;

GRANT SELECT(key_id) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(space_id) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(principal_id) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(purpose) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(name) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(scopes) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(level) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(compartments) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(created_at) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(expires_at),UPDATE(expires_at) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(last_used_at),UPDATE(last_used_at) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(revoked_at),UPDATE(revoked_at) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(tools) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(elicits_for),UPDATE(elicits_for) ON TABLE portico.api_key TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.approval TO portico_app;
GRANT DELETE ON TABLE portico.approval TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.approval TO portico_engine;

GRANT SELECT(approval_id) ON TABLE portico.approval TO portico_engine;

GRANT UPDATE(sealed) ON TABLE portico.approval TO portico_app;

GRANT SELECT(asked_at) ON TABLE portico.approval TO portico_engine;

GRANT UPDATE(expires_at) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(status) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(answer) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(answered_by) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(answerer) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(answered_via) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(answered_at) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(answer_reason) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(rule_made) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(replaced_by) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(claimed_at) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(outcome) ON TABLE portico.approval TO portico_app;
GRANT SELECT(outcome) ON TABLE portico.approval TO portico_engine;

GRANT UPDATE(ended_at) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(error) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(result) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(collected_at) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(resolved_by) ON TABLE portico.approval TO portico_app;

GRANT SELECT ON TABLE portico.audit_entry TO portico_app;

GRANT SELECT ON TABLE portico.audit_head TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.budget TO portico_app;

GRANT UPDATE(held_tokens) ON TABLE portico.budget TO portico_app;

GRANT UPDATE(held_money) ON TABLE portico.budget TO portico_app;

GRANT UPDATE(held_time) ON TABLE portico.budget TO portico_app;

GRANT UPDATE(held_calls) ON TABLE portico.budget TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.budget_reservation TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.call_count TO portico_app;

GRANT UPDATE(slot) ON TABLE portico.call_count TO portico_app;

GRANT UPDATE(taken) ON TABLE portico.call_count TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.embedding TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.event TO portico_app;
GRANT DELETE ON TABLE portico.event TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.event TO portico_engine;

GRANT SELECT(topic) ON TABLE portico.event TO portico_engine;

GRANT SELECT(number) ON TABLE portico.event TO portico_engine;

GRANT SELECT(at) ON TABLE portico.event TO portico_engine;

GRANT SELECT,INSERT,DELETE ON TABLE portico.learnt_count TO portico_app;
GRANT DELETE ON TABLE portico.learnt_count TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.learnt_count TO portico_engine;

GRANT UPDATE(tried) ON TABLE portico.learnt_count TO portico_app;

GRANT UPDATE(hit) ON TABLE portico.learnt_count TO portico_app;

GRANT UPDATE(last_seen_at) ON TABLE portico.learnt_count TO portico_app;
GRANT SELECT(last_seen_at) ON TABLE portico.learnt_count TO portico_engine;

GRANT SELECT,INSERT,DELETE ON TABLE portico.login TO portico_app;

GRANT UPDATE(sealed) ON TABLE portico.login TO portico_app;

GRANT UPDATE(since) ON TABLE portico.login TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.login_attempt TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.login_client TO portico_app;

GRANT UPDATE(settings) ON TABLE portico.login_client TO portico_app;

GRANT UPDATE(sealed) ON TABLE portico.login_client TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.past_plan TO portico_app;
GRANT DELETE ON TABLE portico.past_plan TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.past_plan TO portico_engine;

GRANT SELECT(plan_id) ON TABLE portico.past_plan TO portico_engine;

GRANT SELECT(principal_id) ON TABLE portico.past_plan TO portico_engine;

GRANT UPDATE(runs) ON TABLE portico.past_plan TO portico_app;

GRANT UPDATE(accepted) ON TABLE portico.past_plan TO portico_app;

GRANT UPDATE(rejected) ON TABLE portico.past_plan TO portico_app;

GRANT UPDATE(modified) ON TABLE portico.past_plan TO portico_app;

GRANT UPDATE(last_at) ON TABLE portico.past_plan TO portico_app;
GRANT SELECT(last_at) ON TABLE portico.past_plan TO portico_engine;

GRANT SELECT,INSERT,DELETE ON TABLE portico.policy_rule TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.principal TO portico_app;

GRANT UPDATE(name) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(roles) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(level) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(compartments) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(disabled_at) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(tools) ON TABLE portico.principal TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.receipt TO portico_app;
GRANT DELETE ON TABLE portico.receipt TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.receipt TO portico_engine;

GRANT SELECT(principal_id) ON TABLE portico.receipt TO portico_engine;

GRANT SELECT(operation) ON TABLE portico.receipt TO portico_engine;

GRANT SELECT(key) ON TABLE portico.receipt TO portico_engine;

GRANT UPDATE(body) ON TABLE portico.receipt TO portico_app;

GRANT SELECT(created_at) ON TABLE portico.receipt TO portico_engine;

GRANT SELECT,INSERT ON TABLE portico.run TO portico_app;
GRANT DELETE ON TABLE portico.run TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.run TO portico_engine;

GRANT SELECT(run_id) ON TABLE portico.run TO portico_engine;

GRANT SELECT(principal_id) ON TABLE portico.run TO portico_engine;

GRANT SELECT(kind) ON TABLE portico.run TO portico_engine;

GRANT SELECT(level) ON TABLE portico.run TO portico_engine;

GRANT SELECT(compartments) ON TABLE portico.run TO portico_engine;

GRANT SELECT(clearance_level) ON TABLE portico.run TO portico_engine;
GRANT UPDATE(clearance_level) ON TABLE portico.run TO portico_app;

GRANT SELECT(clearance_compartments) ON TABLE portico.run TO portico_engine;
GRANT UPDATE(clearance_compartments) ON TABLE portico.run TO portico_app;

GRANT UPDATE(scopes) ON TABLE portico.run TO portico_app;

GRANT SELECT(queue) ON TABLE portico.run TO portico_engine;

GRANT SELECT(partition_key) ON TABLE portico.run TO portico_engine;

GRANT SELECT(priority) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(status) ON TABLE portico.run TO portico_app;
GRANT SELECT(status),UPDATE(status) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(leg) ON TABLE portico.run TO portico_app;
GRANT SELECT(leg),UPDATE(leg) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(claim) ON TABLE portico.run TO portico_app;
GRANT SELECT(claim),UPDATE(claim) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(executor) ON TABLE portico.run TO portico_app;
GRANT SELECT(executor),UPDATE(executor) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(attempts) ON TABLE portico.run TO portico_app;
GRANT SELECT(attempts),UPDATE(attempts) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(waits_for) ON TABLE portico.run TO portico_app;

GRANT UPDATE(wakes_at) ON TABLE portico.run TO portico_app;
GRANT SELECT(wakes_at),UPDATE(wakes_at) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(input) ON TABLE portico.run TO portico_app;

GRANT UPDATE(result) ON TABLE portico.run TO portico_app;

GRANT UPDATE(error) ON TABLE portico.run TO portico_app;

GRANT SELECT(created_at) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(started_at) ON TABLE portico.run TO portico_app;
GRANT SELECT(started_at),UPDATE(started_at) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(finished_at) ON TABLE portico.run TO portico_app;
GRANT SELECT(finished_at),UPDATE(finished_at) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(changed_at) ON TABLE portico.run TO portico_app;
GRANT SELECT(changed_at),UPDATE(changed_at) ON TABLE portico.run TO portico_engine;

GRANT SELECT,INSERT ON TABLE portico.run_signal TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.run_step TO portico_app;

GRANT UPDATE(number) ON TABLE portico.run_step TO portico_app;

GRANT UPDATE(state) ON TABLE portico.run_step TO portico_app;

GRANT UPDATE(output) ON TABLE portico.run_step TO portico_app;

GRANT UPDATE(error) ON TABLE portico.run_step TO portico_app;

GRANT UPDATE(due_at) ON TABLE portico.run_step TO portico_app;

GRANT UPDATE(finished_at) ON TABLE portico.run_step TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.saved_workflow TO portico_app;

GRANT UPDATE(plan) ON TABLE portico.saved_workflow TO portico_app;

GRANT UPDATE(description) ON TABLE portico.saved_workflow TO portico_app;

GRANT UPDATE(effect) ON TABLE portico.saved_workflow TO portico_app;

GRANT UPDATE(saved_by) ON TABLE portico.saved_workflow TO portico_app;

GRANT UPDATE(saved_by_name) ON TABLE portico.saved_workflow TO portico_app;

GRANT UPDATE(changed_at) ON TABLE portico.saved_workflow TO portico_app;

GRANT SELECT ON TABLE portico.schema_migration TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.server TO portico_app;

GRANT UPDATE(launch) ON TABLE portico.server TO portico_app;

GRANT UPDATE(launch_pin) ON TABLE portico.server TO portico_app;

GRANT UPDATE(enabled) ON TABLE portico.server TO portico_app;

GRANT UPDATE(approved_launch_pin) ON TABLE portico.server TO portico_app;

GRANT UPDATE(approved_launch) ON TABLE portico.server TO portico_app;

GRANT UPDATE(approved_by) ON TABLE portico.server TO portico_app;

GRANT UPDATE(approved_at) ON TABLE portico.server TO portico_app;

GRANT UPDATE(tools_accepted) ON TABLE portico.server TO portico_app;

GRANT UPDATE(set_pin) ON TABLE portico.server TO portico_app;

GRANT UPDATE(accepted_set_pin) ON TABLE portico.server TO portico_app;

GRANT UPDATE(instructions) ON TABLE portico.server TO portico_app;

GRANT UPDATE(accepted_instructions) ON TABLE portico.server TO portico_app;

GRANT UPDATE(offers) ON TABLE portico.server TO portico_app;

GRANT UPDATE(accepted_offers) ON TABLE portico.server TO portico_app;

GRANT UPDATE(identity) ON TABLE portico.server TO portico_app;

GRANT UPDATE(era) ON TABLE portico.server TO portico_app;

GRANT UPDATE(timeout_seconds) ON TABLE portico.server TO portico_app;

GRANT UPDATE(failure) ON TABLE portico.server TO portico_app;

GRANT UPDATE(listed_at) ON TABLE portico.server TO portico_app;

GRANT UPDATE(gone_at) ON TABLE portico.server TO portico_app;

GRANT UPDATE(profile) ON TABLE portico.server TO portico_app;

GRANT UPDATE(unboxed) ON TABLE portico.server TO portico_app;

GRANT UPDATE(label_level) ON TABLE portico.server TO portico_app;

GRANT UPDATE(label_compartments) ON TABLE portico.server TO portico_app;

GRANT UPDATE(clearance_level) ON TABLE portico.server TO portico_app;

GRANT UPDATE(clearance_compartments) ON TABLE portico.server TO portico_app;

GRANT UPDATE(trusted) ON TABLE portico.server TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.setting TO portico_app;

GRANT UPDATE(value) ON TABLE portico.setting TO portico_app;

GRANT UPDATE(updated_at) ON TABLE portico.setting TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.space TO portico_app;

GRANT UPDATE(name) ON TABLE portico.space TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.stream TO portico_app;
GRANT DELETE ON TABLE portico.stream TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.stream TO portico_engine;

GRANT SELECT(topic) ON TABLE portico.stream TO portico_engine;

GRANT SELECT(first),UPDATE(first) ON TABLE portico.stream TO portico_engine;

GRANT UPDATE(last) ON TABLE portico.stream TO portico_app;
GRANT SELECT(last) ON TABLE portico.stream TO portico_engine;

GRANT SELECT(created_at) ON TABLE portico.stream TO portico_engine;

GRANT SELECT,INSERT ON TABLE portico.suggestion TO portico_app;
GRANT DELETE ON TABLE portico.suggestion TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.suggestion TO portico_engine;

GRANT SELECT(suggestion_id) ON TABLE portico.suggestion TO portico_engine;

GRANT SELECT(principal_id) ON TABLE portico.suggestion TO portico_engine;

GRANT SELECT(made_at) ON TABLE portico.suggestion TO portico_engine;

GRANT UPDATE(run_id) ON TABLE portico.suggestion TO portico_app;

GRANT UPDATE(outcome) ON TABLE portico.suggestion TO portico_app;

GRANT UPDATE(settled_at) ON TABLE portico.suggestion TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.task_context TO portico_app;

GRANT UPDATE(level) ON TABLE portico.task_context TO portico_app;

GRANT UPDATE(compartments) ON TABLE portico.task_context TO portico_app;

GRANT UPDATE(untrusted) ON TABLE portico.task_context TO portico_app;

GRANT UPDATE(closed_at) ON TABLE portico.task_context TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.token_subject TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.tool TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.tool_call TO portico_app;
GRANT DELETE ON TABLE portico.tool_call TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.tool_call TO portico_engine;

GRANT SELECT(call_id) ON TABLE portico.tool_call TO portico_engine;

GRANT SELECT(started_at) ON TABLE portico.tool_call TO portico_engine;

GRANT UPDATE(took) ON TABLE portico.tool_call TO portico_app;

GRANT UPDATE(outcome) ON TABLE portico.tool_call TO portico_app;

GRANT UPDATE(error) ON TABLE portico.tool_call TO portico_app;

GRANT UPDATE(bytes_out) ON TABLE portico.tool_call TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.tool_edge TO portico_app;
GRANT DELETE ON TABLE portico.tool_edge TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.tool_edge TO portico_engine;

GRANT UPDATE(times) ON TABLE portico.tool_edge TO portico_app;

GRANT UPDATE(tasks) ON TABLE portico.tool_edge TO portico_app;

GRANT UPDATE(last_seen_at) ON TABLE portico.tool_edge TO portico_app;
GRANT SELECT(last_seen_at) ON TABLE portico.tool_edge TO portico_engine;

GRANT SELECT,INSERT ON TABLE portico.tool_flow TO portico_app;

GRANT UPDATE(times) ON TABLE portico.tool_flow TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.tool_result TO portico_app;
GRANT DELETE ON TABLE portico.tool_result TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.tool_result TO portico_engine;

GRANT SELECT(result_id) ON TABLE portico.tool_result TO portico_engine;

GRANT SELECT(expires_at) ON TABLE portico.tool_result TO portico_engine;

GRANT SELECT,INSERT ON TABLE portico.tool_shape TO portico_app;

GRANT UPDATE(pin) ON TABLE portico.tool_shape TO portico_app;

GRANT UPDATE(seen) ON TABLE portico.tool_shape TO portico_app;

GRANT UPDATE(shape) ON TABLE portico.tool_shape TO portico_app;
