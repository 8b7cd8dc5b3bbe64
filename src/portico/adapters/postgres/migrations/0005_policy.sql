-- Who may do what: lists of tools, rules, and what the tasks of a space have read.

-- 1. Lists of tools, of a principal and of a key. ------------------------------------------------
-- NULL is every tool; a list that is empty is none.

ALTER TABLE portico.principal ADD COLUMN tools text[] CHECK (cardinality(tools) <= 200);
ALTER TABLE portico.api_key ADD COLUMN tools text[] CHECK (cardinality(tools) <= 200);

GRANT UPDATE (tools) ON portico.principal TO portico_app;
GRANT SELECT (tools) ON portico.api_key TO portico_app;

-- What tools:call was until now is tools:call and tools:write from now on.
UPDATE portico.api_key SET scopes = array_append(scopes, 'tools:write')
 WHERE 'tools:call' = ANY (scopes) AND NOT 'tools:write' = ANY (scopes);
UPDATE portico.principal SET grants = array_append(grants, 'tools:write')
 WHERE 'tools:call' = ANY (grants) AND NOT 'tools:write' = ANY (grants);

DROP FUNCTION portico.find_api_key(text);
CREATE FUNCTION portico.find_api_key(wanted text)
    RETURNS TABLE (
        key_id text, space_id uuid, principal_id uuid, purpose text, key_name text, digest bytea,
        scopes text[], key_level smallint, key_compartments text[], key_tools text[],
        created_at timestamptz, expires_at timestamptz, last_used_at timestamptz,
        revoked_at timestamptz,
        kind text, name text, roles text[], grants text[], level smallint, compartments text[],
        tools text[], principal_created_at timestamptz, disabled_at timestamptz
    )
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
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
REVOKE ALL ON FUNCTION portico.find_api_key(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.find_api_key(text) TO portico_app;

-- 2. Rules that a space has made. A rule is made and removed, never changed. ---------------------

CREATE TABLE portico.policy_rule (
    space_id    uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    name        text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    ruling      text        NOT NULL CHECK (ruling IN ('allow', 'ask', 'deny')),
    tools       text[]      NOT NULL CHECK (cardinality(tools) > 0),
    but         text[]      NOT NULL DEFAULT '{}',
    who         text[]      NOT NULL DEFAULT '{}',
    effects     text[]      NOT NULL DEFAULT '{}',
    reads       boolean     NOT NULL DEFAULT false,
    tainted     boolean     NOT NULL DEFAULT false,
    upto_level          smallint NOT NULL DEFAULT 0 CHECK (upto_level BETWEEN 0 AND 3),
    upto_compartments   text[]   NOT NULL DEFAULT '{}',
    context_id  uuid,
    expires_at  timestamptz,
    made_by     text        NOT NULL,
    made_at     timestamptz NOT NULL,
    approval_id uuid,
    PRIMARY KEY (space_id, name)
);

ALTER TABLE portico.policy_rule ENABLE ROW LEVEL SECURITY;
ALTER TABLE portico.policy_rule FORCE ROW LEVEL SECURITY;
CREATE POLICY space_wall ON portico.policy_rule
    USING (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid))
    WITH CHECK (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid));
CREATE POLICY owner_door ON portico.policy_rule TO portico_owner USING (true) WITH CHECK (true);

GRANT SELECT, INSERT, DELETE ON portico.policy_rule TO portico_app;

-- 3. Tasks, and labels of servers, calls and results. --------------------------------------------

CREATE TABLE portico.task_context (
    space_id        uuid        NOT NULL,
    context_id      uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    name            text        CHECK (length(name) BETWEEN 1 AND 100),  -- NULL: that of a key
    level           smallint    NOT NULL DEFAULT 0 CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    untrusted       boolean     NOT NULL DEFAULT false,
    opened_at       timestamptz NOT NULL,
    closed_at       timestamptz,
    PRIMARY KEY (space_id, context_id),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);
CREATE INDEX task_context_by_principal ON portico.task_context (space_id, principal_id, opened_at);

ALTER TABLE portico.task_context ENABLE ROW LEVEL SECURITY;
ALTER TABLE portico.task_context FORCE ROW LEVEL SECURITY;
CREATE POLICY space_wall ON portico.task_context
    USING (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid))
    WITH CHECK (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid));
CREATE POLICY owner_door ON portico.task_context TO portico_owner USING (true) WITH CHECK (true);

GRANT SELECT, INSERT, DELETE, UPDATE (level, compartments, untrusted, closed_at)
    ON portico.task_context TO portico_app;

-- A server is seen whole or not at all. The catalogue is kept for everybody at once, so what is
-- above somebody is left out where it is handed out, and not by a wall of this table.
ALTER TABLE portico.server
    ADD COLUMN label_level              smallint NOT NULL DEFAULT 0 CHECK (label_level BETWEEN 0 AND 3),
    ADD COLUMN label_compartments       text[]   NOT NULL DEFAULT '{}',
    ADD COLUMN clearance_level          smallint NOT NULL DEFAULT 1 CHECK (clearance_level BETWEEN 0 AND 3),
    ADD COLUMN clearance_compartments   text[]   NOT NULL DEFAULT '{}',
    ADD COLUMN trusted                  boolean  NOT NULL DEFAULT false;
GRANT UPDATE (label_level, label_compartments, clearance_level, clearance_compartments, trusted)
    ON portico.server TO portico_app;

ALTER TABLE portico.tool_call
    ADD COLUMN context_id   uuid,
    ADD COLUMN level        smallint NOT NULL DEFAULT 0 CHECK (level BETWEEN 0 AND 3),
    ADD COLUMN compartments text[]   NOT NULL DEFAULT '{}';
ALTER TABLE portico.tool_result
    ADD COLUMN level        smallint NOT NULL DEFAULT 0 CHECK (level BETWEEN 0 AND 3),
    ADD COLUMN compartments text[]   NOT NULL DEFAULT '{}',
    ADD COLUMN untrusted    boolean  NOT NULL DEFAULT true;

DO $walls$
DECLARE
    walled text;
    wall text := $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)
        AND level <= (SELECT coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint)
        AND compartments <@ (SELECT string_to_array(coalesce(current_setting('portico.compartments', true), ''), ','))$$;
    own text := $$ AND principal_id = (SELECT nullif(current_setting('portico.principal', true), '')::uuid)$$;
    its_wall text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['tool_call', 'tool_call_other', 'tool_result'] LOOP
        its_wall := wall || CASE WHEN walled = 'tool_result' THEN own ELSE '' END;
        EXECUTE format('DROP POLICY space_wall ON portico.%I', walled);
        EXECUTE format('CREATE POLICY space_wall ON portico.%I USING (%s) WITH CHECK (%s)', walled, its_wall, its_wall);
    END LOOP;
END
$walls$;
