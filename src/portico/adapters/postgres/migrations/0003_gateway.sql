-- The gateway: servers and their tools as last seen and as approved, vectors of their texts, the
-- record of calls, results kept for their caller, and what each principal has found and used.
--
-- What a server says of its tools is `json`, not `jsonb`: a pin is over its numbers as they came,
-- and jsonb writes numbers anew. No secret is here: a launch holds references.

CREATE TABLE portico.server (
    space_id                uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    server_id               uuid        NOT NULL,
    name                    text        NOT NULL CHECK (name ~ '^[a-z][a-z0-9-]{0,31}$'),
    origin                  text        NOT NULL CHECK (length(origin) BETWEEN 1 AND 4096),
    entry                   text        CHECK (length(entry) BETWEEN 1 AND 4096),
    launch                  json        NOT NULL,
    launch_pin              text        NOT NULL,
    enabled                 boolean     NOT NULL,
    approved_launch_pin     text,
    approved_launch         json,
    approved_by             text,
    approved_at             timestamptz,
    tools_accepted          boolean     NOT NULL,
    set_pin                 text,
    accepted_set_pin        text,
    instructions            text,
    accepted_instructions   text,
    offers                  json        NOT NULL,
    accepted_offers         json        NOT NULL,
    identity                json,
    era                     text        CHECK (era IN ('modern', 'legacy')),
    timeout_seconds         double precision CHECK (timeout_seconds > 0),
    failure                 text,
    listed_at               timestamptz,
    gone_at                 timestamptz,
    created_at              timestamptz NOT NULL,
    PRIMARY KEY (space_id, server_id),
    UNIQUE (space_id, name),
    UNIQUE (space_id, origin, entry)
);

-- `accepted_definition` is kept only where it is another than the one that is seen now: most
-- tools are as they were accepted.
CREATE TABLE portico.tool (
    space_id                uuid        NOT NULL,
    server_id               uuid        NOT NULL,
    name                    text        NOT NULL CHECK (length(name) > 0),
    position                integer     NOT NULL,
    definition              json        NOT NULL,
    pin                     text        NOT NULL,
    tokens                  integer     NOT NULL CHECK (tokens >= 0),
    effect                  text        NOT NULL CHECK (effect IN
        ('pure', 'local_read', 'external_read', 'local_write', 'external_write', 'irreversible',
         'unknown')),
    accepted_definition     json,
    accepted_pin            text,
    refused                 text,
    gone                    boolean     NOT NULL,
    PRIMARY KEY (space_id, server_id, name),
    FOREIGN KEY (space_id, server_id) REFERENCES portico.server ON DELETE CASCADE,
    CHECK ((accepted_definition IS NOT NULL)
           = (accepted_pin IS NOT NULL AND accepted_pin <> pin))
);

-- Numbers do not get shorter by compressing them.
CREATE TABLE portico.embedding (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    model           text        NOT NULL CHECK (length(model) BETWEEN 1 AND 300),
    content_key     text        NOT NULL CHECK (length(content_key) BETWEEN 1 AND 200),
    vector          bytea       STORAGE EXTERNAL NOT NULL CHECK (length(vector) % 4 = 0),
    made_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, model, content_key)
);

-- A call without an outcome is under way, or was when the process that made it went away.
CREATE TABLE portico.tool_call (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    call_id         uuid        NOT NULL,
    started_at      timestamptz NOT NULL,
    principal_id    uuid        NOT NULL,
    server          text        NOT NULL,
    tool            text        NOT NULL,
    effect          text        NOT NULL,
    pin             text        NOT NULL,
    arguments       json        NOT NULL,
    due_at          timestamptz,
    incarnation     text        NOT NULL,
    took            interval,
    outcome         text        CHECK (outcome IN
        ('done', 'failed', 'broken', 'timed_out', 'cancelled', 'uncertain')),
    error           text,
    bytes_out       bigint      NOT NULL,
    PRIMARY KEY (space_id, call_id, started_at)
) PARTITION BY RANGE (started_at);

CREATE INDEX tool_call_by_tool ON portico.tool_call (space_id, server, tool, started_at);
CREATE INDEX tool_call_by_age ON portico.tool_call (space_id, started_at);
CREATE INDEX tool_call_by_principal ON portico.tool_call (space_id, principal_id, started_at);

-- For what no month was made for: a call is recorded even for want of one.
CREATE TABLE portico.tool_call_other PARTITION OF portico.tool_call DEFAULT;

CREATE TABLE portico.tool_result (
    space_id        uuid        NOT NULL,
    result_id       uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    content         json        NOT NULL,
    expires_at      timestamptz NOT NULL,
    PRIMARY KEY (space_id, result_id),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

CREATE INDEX tool_result_by_age ON portico.tool_result (expires_at);

-- `calls` is what they counted for at `called_at`; each counts half after a week.
CREATE TABLE portico.acquaintance (
    space_id        uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    server          text        NOT NULL,
    tool            text        NOT NULL,
    found_for       text        NOT NULL DEFAULT '',
    found_at        timestamptz,
    calls           double precision NOT NULL DEFAULT 0,
    called_at       timestamptz,
    PRIMARY KEY (space_id, principal_id, server, tool),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

DO $walls$
DECLARE
    walled text;
    wall text := $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)$$;
    own text := $$ AND principal_id = (SELECT nullif(current_setting('portico.principal', true), '')::uuid)$$;
    its_wall text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['server', 'tool', 'embedding', 'tool_call', 'tool_call_other',
                                  'tool_result', 'acquaintance'] LOOP
        its_wall := wall || CASE WHEN walled IN ('tool_result', 'acquaintance') THEN own ELSE '' END;
        EXECUTE format('ALTER TABLE portico.%I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE portico.%I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format('CREATE POLICY space_wall ON portico.%I USING (%s) WITH CHECK (%s)', walled, its_wall, its_wall);
        EXECUTE format('CREATE POLICY owner_door ON portico.%I TO portico_owner USING (true) WITH CHECK (true)', walled);
    END LOOP;
    FOREACH walled IN ARRAY ARRAY['tool_call', 'tool_result'] LOOP
        EXECUTE format('CREATE POLICY engine_door ON portico.%I TO portico_engine USING (true) WITH CHECK (true)', walled);
    END LOOP;
END
$walls$;

GRANT SELECT, INSERT, DELETE,
      UPDATE (launch, launch_pin, enabled, approved_launch_pin, approved_launch, approved_by,
              approved_at,
              tools_accepted, set_pin, accepted_set_pin, instructions, accepted_instructions,
              offers, accepted_offers, identity, era, timeout_seconds, failure, listed_at,
              gone_at) ON portico.server TO portico_app;
GRANT SELECT, INSERT, DELETE ON portico.tool TO portico_app;
GRANT SELECT, INSERT ON portico.embedding TO portico_app;
GRANT SELECT, INSERT, UPDATE (took, outcome, error, bytes_out) ON portico.tool_call
    TO portico_app;
GRANT SELECT, INSERT ON portico.tool_result TO portico_app;
GRANT SELECT, INSERT, UPDATE (found_for, found_at, calls, called_at) ON portico.acquaintance
    TO portico_app;

GRANT SELECT (space_id, call_id, started_at), DELETE ON portico.tool_call TO portico_engine;
GRANT SELECT (space_id, result_id, expires_at), DELETE ON portico.tool_result TO portico_engine;

-- Months are tables, of whichever log. What was said of those of events is true of all: only their
-- owner makes and drops tables, and as every writer waits behind that, it is given up soon.
CREATE FUNCTION portico.prepare_months(log text, ahead integer)
    RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    SET lock_timeout = '2s' SET "TimeZone" = 'UTC'
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
REVOKE ALL ON FUNCTION portico.prepare_months(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.prepare_months(text, integer) TO portico_engine;

CREATE FUNCTION portico.drop_months(log text, before timestamptz)
    RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    SET lock_timeout = '2s' SET "TimeZone" = 'UTC'
    AS $$
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
    $$;
REVOKE ALL ON FUNCTION portico.drop_months(text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.drop_months(text, timestamptz) TO portico_engine;

-- For processes of the version before, while they are being replaced.
CREATE OR REPLACE FUNCTION portico.prepare_event_months(ahead integer)
    RETURNS integer
    LANGUAGE sql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$ SELECT portico.prepare_months('event', ahead) $$;

CREATE OR REPLACE FUNCTION portico.drop_event_months(before timestamptz)
    RETURNS integer
    LANGUAGE sql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$ SELECT portico.drop_months('event', before) $$;
