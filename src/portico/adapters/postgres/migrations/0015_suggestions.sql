-- Plans that went well, for words that somebody said, and what was suggested to whom.
--
-- The walls of both look at the label: what was learnt above somebody's clearance is not there for
-- them. A past plan serves everybody who is cleared for it; its words are told to its author alone.

CREATE TABLE portico.past_plan (
    space_id        uuid        NOT NULL,
    plan_id         uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    intent          text        NOT NULL CHECK (length(intent) BETWEEN 1 AND 2000),
    vector          bytea       NOT NULL,
    steps           json        NOT NULL CHECK (octet_length(steps::text) <= 65536),
    runs            bigint      NOT NULL CHECK (runs >= 0),
    accepted        bigint      NOT NULL DEFAULT 0 CHECK (accepted >= 0),
    rejected        bigint      NOT NULL DEFAULT 0 CHECK (rejected >= 0),
    modified        bigint      NOT NULL DEFAULT 0 CHECK (modified >= 0),
    last_at         timestamptz NOT NULL,
    PRIMARY KEY (space_id, plan_id),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

COMMENT ON COLUMN portico.past_plan.intent IS 'with a kind in the place of each value in it';
COMMENT ON COLUMN portico.past_plan.steps IS
    'tools by the ids of their servers, and where each argument came from; nobody''s values';
COMMENT ON COLUMN portico.past_plan.vector IS
    'of the intent without its values: float32, little-endian';

CREATE INDEX past_plan_by_age ON portico.past_plan (space_id, principal_id, last_at);

-- `result_id` is where its plan is kept, sealed and for an hour, for whoever it was made for.
CREATE TABLE portico.suggestion (
    space_id        uuid        NOT NULL,
    suggestion_id   uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    mode            text        NOT NULL
        CHECK (mode IN ('explicit_required', 'suggestion', 'ran_ahead')),
    raw             double precision NOT NULL,
    backing         double precision NOT NULL CHECK (backing BETWEEN 0 AND 1),
    confidence      double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    past            uuid[]      NOT NULL,
    result_id       uuid        NOT NULL,
    made_at         timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    run_id          uuid,
    outcome         text        CHECK (outcome IN ('accepted', 'rejected', 'modified')),
    settled_at      timestamptz,
    PRIMARY KEY (space_id, suggestion_id),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

COMMENT ON COLUMN portico.suggestion.raw IS 'how sure it was before that was calibrated';
COMMENT ON COLUMN portico.suggestion.backing IS 'as much of that as the runs behind it allowed';
COMMENT ON COLUMN portico.suggestion.past IS 'the past plans that it leans on';

CREATE INDEX suggestion_latest ON portico.suggestion (space_id, principal_id, made_at);
CREATE INDEX suggestion_by_run ON portico.suggestion (space_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX suggestion_by_age ON portico.suggestion (made_at);

DO $walls$
DECLARE
    walled text;
    wall text := $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)
        AND level <= (SELECT coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint)
        AND compartments <@ (SELECT string_to_array(coalesce(current_setting('portico.compartments', true), ''), ','))$$;
    own text := $$ AND principal_id = (SELECT nullif(current_setting('portico.principal', true), '')::uuid)$$;
    its_wall text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['past_plan', 'suggestion'] LOOP
        its_wall := wall || CASE WHEN walled = 'suggestion' THEN own ELSE '' END;
        EXECUTE format('ALTER TABLE portico.%I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE portico.%I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format('CREATE POLICY space_wall ON portico.%I USING (%s) WITH CHECK (%s)', walled, its_wall, its_wall);
        EXECUTE format('CREATE POLICY owner_door ON portico.%I TO portico_owner USING (true) WITH CHECK (true)', walled);
        EXECUTE format('CREATE POLICY engine_door ON portico.%I TO portico_engine USING (true) WITH CHECK (true)', walled);
    END LOOP;
END
$walls$;

GRANT SELECT, INSERT, UPDATE (runs, accepted, rejected, modified, last_at) ON portico.past_plan
    TO portico_app;
GRANT SELECT, INSERT, UPDATE (run_id, outcome, settled_at) ON portico.suggestion TO portico_app;
GRANT SELECT (space_id, plan_id, principal_id, last_at), DELETE ON portico.past_plan TO portico_engine;
GRANT SELECT (space_id, suggestion_id, principal_id, made_at), DELETE ON portico.suggestion
    TO portico_engine;
