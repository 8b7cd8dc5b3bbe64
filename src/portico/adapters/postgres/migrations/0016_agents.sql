-- Agents as somebody describes them, with every version, and what is written down of their runs:
-- the run, its turns, each use of a tool in them, and what people said.
--
-- The walls look at labels: an agent is labelled by whoever made it, and what a run has read makes
-- the rest as secret as that. Traces are only ever added to; of a run itself there change how it is
-- doing and what it came to.

CREATE TABLE portico.agent (
    space_id        uuid        NOT NULL,
    agent_id        uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    name            text        NOT NULL CHECK (name ~ '^[A-Za-z][A-Za-z0-9_-]{0,47}$'),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    version         integer     NOT NULL CHECK (version >= 1),
    spec            json        NOT NULL CHECK (json_typeof(spec) = 'object'),
    made_by         uuid        NOT NULL,
    made_by_name    text        NOT NULL,
    made_at         timestamptz NOT NULL,
    changed_at      timestamptz NOT NULL,
    PRIMARY KEY (space_id, agent_id),
    UNIQUE (space_id, name),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

COMMENT ON COLUMN portico.agent.principal_id IS 'who it is when it calls a tool';

-- Labelled each by itself: one that was more secret than the agent is now stays so.
CREATE TABLE portico.agent_version (
    space_id        uuid        NOT NULL,
    agent_id        uuid        NOT NULL,
    number          integer     NOT NULL CHECK (number >= 1),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    spec            json        NOT NULL CHECK (json_typeof(spec) = 'object'),
    made_by         uuid        NOT NULL,
    made_by_name    text        NOT NULL,
    made_at         timestamptz NOT NULL,
    PRIMARY KEY (space_id, agent_id, number),
    FOREIGN KEY (space_id, agent_id) REFERENCES portico.agent ON DELETE CASCADE
);

-- An agent that is gone leaves its runs behind, under the name that it had.
CREATE TABLE portico.agent_run (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    run_id          uuid        NOT NULL,
    agent_id        uuid        NOT NULL,
    agent_name      text        NOT NULL,
    agent_version   integer     NOT NULL,
    started_by      uuid        NOT NULL,
    acts_as         uuid        NOT NULL,
    context_id      uuid        NOT NULL,
    continues       uuid,
    history         json        NOT NULL CHECK (json_typeof(history) = 'array'),
    status          text        NOT NULL CHECK (status IN
        ('running', 'waiting', 'completed', 'stopped', 'exhausted', 'failed', 'cancelled')),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    started_at      timestamptz NOT NULL,
    ended_at        timestamptz,
    stop_at         timestamptz,
    model           text        NOT NULL,
    turns           integer     NOT NULL CHECK (turns >= 0),
    tool_uses       integer     NOT NULL CHECK (tool_uses >= 0),
    input_tokens    bigint      NOT NULL CHECK (input_tokens >= 0),
    output_tokens   bigint      NOT NULL CHECK (output_tokens >= 0),
    cached_tokens   bigint      NOT NULL CHECK (cached_tokens >= 0),
    reported        boolean     NOT NULL,
    money           numeric     NOT NULL CHECK (money >= 0),
    answer          text        NOT NULL,
    error_code      text,
    error           text,
    trace_id        text        NOT NULL CHECK (trace_id ~ '^[0-9a-f]{32}$'),
    PRIMARY KEY (space_id, run_id)
);

COMMENT ON COLUMN portico.agent_run.history IS
    'what was said before, by the account of whoever started it';
COMMENT ON COLUMN portico.agent_run.stop_at IS 'when somebody said that it is to stop';
COMMENT ON COLUMN portico.agent_run.money IS 'US dollars';
COMMENT ON COLUMN portico.agent_run.reported IS
    'whether every server said how many tokens it took; the rest is what was counted here';

CREATE INDEX agent_run_newest ON portico.agent_run (space_id, started_at, run_id);
CREATE INDEX agent_run_by_agent ON portico.agent_run (space_id, agent_name, started_at, run_id);
CREATE INDEX agent_run_by_starter ON portico.agent_run (space_id, started_by, started_at, run_id);
CREATE INDEX agent_run_by_age ON portico.agent_run (started_at);

CREATE TABLE portico.agent_turn (
    space_id        uuid        NOT NULL,
    run_id          uuid        NOT NULL,
    number          integer     NOT NULL CHECK (number >= 1),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    model           text        NOT NULL,
    attempts        integer     NOT NULL,
    heard           integer     NOT NULL,
    text            text        NOT NULL,
    thought         text        NOT NULL,
    calls           json        NOT NULL CHECK (json_typeof(calls) = 'array'),
    kept            json        NOT NULL,
    input_tokens    bigint      NOT NULL,
    output_tokens   bigint      NOT NULL,
    cached_tokens   bigint      NOT NULL,
    reported        boolean     NOT NULL,
    counted         bigint      NOT NULL,
    money           numeric     NOT NULL,
    finish          text        NOT NULL,
    started_at      timestamptz NOT NULL,
    took            interval    NOT NULL,
    first_piece     interval,
    notes           text[]      NOT NULL,
    span_id         text        NOT NULL CHECK (span_id ~ '^[0-9a-f]{16}$'),
    PRIMARY KEY (space_id, run_id, number),
    FOREIGN KEY (space_id, run_id) REFERENCES portico.agent_run ON DELETE CASCADE
);

COMMENT ON COLUMN portico.agent_turn.kept IS
    'what the server of the model wants back with it, word for word';
COMMENT ON COLUMN portico.agent_turn.counted IS 'tokens that the budget was charged';

CREATE TABLE portico.agent_tool_use (
    space_id        uuid        NOT NULL,
    run_id          uuid        NOT NULL,
    turn            integer     NOT NULL CHECK (turn >= 1),
    place           integer     NOT NULL CHECK (place >= 0),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    call            text        NOT NULL,
    tool            text        NOT NULL,
    arguments       json        NOT NULL CHECK (json_typeof(arguments) = 'object'),
    text            text        NOT NULL,
    failed          boolean     NOT NULL,
    code            text,
    approval_id     uuid,
    early           boolean     NOT NULL,
    started_at      timestamptz NOT NULL,
    took            interval    NOT NULL,
    span_id         text        NOT NULL CHECK (span_id ~ '^[0-9a-f]{16}$'),
    PRIMARY KEY (space_id, run_id, turn, place),
    FOREIGN KEY (space_id, run_id) REFERENCES portico.agent_run ON DELETE CASCADE
);

CREATE TABLE portico.agent_said (
    space_id        uuid        NOT NULL,
    run_id          uuid        NOT NULL,
    number          integer     NOT NULL CHECK (number >= 1),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    text            text        NOT NULL,
    said_by         uuid        NOT NULL,
    said_at         timestamptz NOT NULL,
    PRIMARY KEY (space_id, run_id, number),
    FOREIGN KEY (space_id, run_id) REFERENCES portico.agent_run ON DELETE CASCADE
);

-- By their words, and by the space that they are of: else a word would be looked for among those of
-- every space, and how long that takes would tell of them. What is longer is found by its beginning.
CREATE INDEX agent_said_words ON portico.agent_said USING gin (
    (to_tsvector('simple', left(text, 100000)) || array_to_tsvector(ARRAY['~' || space_id::text])));
CREATE INDEX agent_turn_words ON portico.agent_turn USING gin (
    (to_tsvector('simple', left(text, 100000)) || array_to_tsvector(ARRAY['~' || space_id::text])));
CREATE INDEX agent_tool_use_words ON portico.agent_tool_use USING gin (
    (to_tsvector('simple', left(text, 100000)) || array_to_tsvector(ARRAY['~' || space_id::text])));

DO $walls$
DECLARE
    walled text;
    wall text := $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)
        AND level <= (SELECT coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint)
        AND compartments <@ (SELECT string_to_array(coalesce(current_setting('portico.compartments', true), ''), ','))$$;
BEGIN
    FOREACH walled IN ARRAY ARRAY['agent', 'agent_version', 'agent_run', 'agent_turn',
                                  'agent_tool_use', 'agent_said'] LOOP
        EXECUTE format('ALTER TABLE portico.%I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE portico.%I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format('CREATE POLICY space_wall ON portico.%I USING (%s) WITH CHECK (%s)', walled, wall, wall);
        EXECUTE format('CREATE POLICY owner_door ON portico.%I TO portico_owner USING (true) WITH CHECK (true)', walled);
    END LOOP;
    CREATE POLICY engine_door ON portico.agent_run TO portico_engine USING (true) WITH CHECK (true);
END
$walls$;

GRANT SELECT, INSERT, DELETE, UPDATE (name, level, compartments, version, spec, changed_at)
    ON portico.agent TO portico_app;
GRANT SELECT, INSERT ON portico.agent_version TO portico_app;
GRANT SELECT, INSERT,
      UPDATE (status, level, compartments, ended_at, stop_at, turns, tool_uses, input_tokens,
              output_tokens, cached_tokens, reported, money, answer, error_code, error)
    ON portico.agent_run TO portico_app;
GRANT SELECT, INSERT ON portico.agent_turn, portico.agent_tool_use, portico.agent_said
    TO portico_app;

-- Runs in which somebody said words that begin so, all of them at once. As the owner, since behind a
-- wall no index is asked for anything that is not proven to keep secrets; so it has the wall itself.
CREATE FUNCTION portico.runs_that_say(words text)
    RETURNS TABLE (run_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
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
REVOKE ALL ON FUNCTION portico.runs_that_say(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.runs_that_say(text) TO portico_app;

-- It forgets a run by its age; what is in it goes with it.
GRANT SELECT (space_id, run_id, started_at), DELETE ON portico.agent_run TO portico_engine;

-- An agent that is renamed is renamed as a principal, too; one that is gone gives its name free.
GRANT UPDATE (name) ON portico.principal TO portico_app;
