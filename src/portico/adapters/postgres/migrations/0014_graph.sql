-- What is learnt from the order of calls: which tool came after which, and counters of what could
-- be foreseen. Tools, paths and counts; no value is here.
--
-- Unlike shapes and flows these are labelled, with all that the task had read by then: that two
-- public tools were used one after the other can be a secret too.

-- `tasks`: how many of its times were the first of a task.
CREATE TABLE portico.tool_edge (
    space_id            uuid        NOT NULL,
    level               smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments        text[]      NOT NULL DEFAULT '{}',
    earlier_id          uuid        NOT NULL,
    earlier_tool        text        NOT NULL CHECK (length(earlier_tool) > 0),
    later_id            uuid        NOT NULL,
    later_tool          text        NOT NULL CHECK (length(later_tool) > 0),
    kind                text        NOT NULL CHECK (kind IN ('follows', 'feeds')),
    times               bigint      NOT NULL CHECK (times > 0),
    tasks               bigint      NOT NULL CHECK (tasks BETWEEN 0 AND times),
    last_seen_at        timestamptz NOT NULL,
    PRIMARY KEY (space_id, earlier_id, earlier_tool, later_id, later_tool, kind, level, compartments),
    FOREIGN KEY (space_id, earlier_id) REFERENCES portico.server ON DELETE CASCADE,
    FOREIGN KEY (space_id, later_id) REFERENCES portico.server ON DELETE CASCADE
);
CREATE INDEX tool_edge_by_later ON portico.tool_edge (space_id, later_id);

-- `key` is JSON and can be longer than what an index takes; `key_hash` is its SHA-256. `servers` are
-- those that it names.
CREATE TABLE portico.learnt_count (
    space_id            uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    level               smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments        text[]      NOT NULL DEFAULT '{}',
    kind                text        NOT NULL CHECK (length(kind) BETWEEN 1 AND 32),
    key_hash            bytea       NOT NULL CHECK (length(key_hash) = 32),
    key                 text        NOT NULL CHECK (length(key) BETWEEN 1 AND 4000),
    servers             uuid[]      NOT NULL,
    tried               bigint      NOT NULL CHECK (tried >= 0),
    hit                 bigint      NOT NULL CHECK (hit >= 0),
    last_seen_at        timestamptz NOT NULL,
    PRIMARY KEY (space_id, level, compartments, kind, key_hash)
);

DO $walls$
DECLARE
    walled text;
    wall text := $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)
        AND level <= (SELECT coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint)
        AND compartments <@ (SELECT string_to_array(coalesce(current_setting('portico.compartments', true), ''), ','))$$;
BEGIN
    FOREACH walled IN ARRAY ARRAY['tool_edge', 'learnt_count'] LOOP
        EXECUTE format('ALTER TABLE portico.%I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE portico.%I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format('CREATE POLICY space_wall ON portico.%I USING (%s) WITH CHECK (%s)', walled, wall, wall);
        EXECUTE format('CREATE POLICY owner_door ON portico.%I TO portico_owner USING (true) WITH CHECK (true)', walled);
        EXECUTE format('CREATE POLICY engine_door ON portico.%I TO portico_engine USING (true) WITH CHECK (true)', walled);
    END LOOP;
END
$walls$;

GRANT SELECT, INSERT, DELETE, UPDATE (times, tasks, last_seen_at) ON portico.tool_edge TO portico_app;
GRANT SELECT, INSERT, DELETE, UPDATE (tried, hit, last_seen_at) ON portico.learnt_count TO portico_app;
GRANT SELECT (space_id, last_seen_at), DELETE ON portico.tool_edge, portico.learnt_count
    TO portico_engine;

-- A counter can name several servers, and goes with the first of them that goes. As the owner does
-- it, also what is labelled above whoever removes the server.
CREATE FUNCTION portico.uncount_servers()
    RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        BEGIN
            DELETE FROM portico.learnt_count AS c USING gone
             WHERE c.space_id = gone.space_id AND gone.server_id = ANY (c.servers);
            RETURN NULL;
        END
    $$;
REVOKE ALL ON FUNCTION portico.uncount_servers() FROM PUBLIC;
CREATE TRIGGER uncounted AFTER DELETE ON portico.server
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION portico.uncount_servers();
