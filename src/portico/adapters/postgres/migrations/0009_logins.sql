-- Tokens: whom those of others stand for here, and those that people have at servers of others.

-- 1. Who was made when a token was first seen. A named principal needs no row. -------------------

CREATE TABLE portico.token_subject (
    space_id        uuid        NOT NULL,
    issuer          text        NOT NULL CHECK (length(issuer) BETWEEN 1 AND 1000),
    subject         text        NOT NULL CHECK (length(subject) BETWEEN 1 AND 300),
    principal_id    uuid        NOT NULL,
    PRIMARY KEY (space_id, issuer, subject),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

-- 2. As what Portico is known where people log in to one server. ---------------------------------
-- Its secret is sealed, or stands elsewhere and is only referred to.

CREATE TABLE portico.login_client (
    space_id        uuid        NOT NULL,
    server_id       uuid        NOT NULL,
    settings        jsonb       NOT NULL CHECK (jsonb_typeof(settings) = 'object'),
    sealed          bytea,
    PRIMARY KEY (space_id, server_id),
    FOREIGN KEY (space_id, server_id) REFERENCES portico.server ON DELETE CASCADE
);

-- 3. The tokens of one person at one server, sealed, and a login that was begun. -----------------
-- Both are there for nobody but that person.

CREATE TABLE portico.login (
    space_id        uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    server_id       uuid        NOT NULL,
    sealed          bytea       NOT NULL,
    since           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, principal_id, server_id),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE,
    FOREIGN KEY (space_id, server_id) REFERENCES portico.server ON DELETE CASCADE
);

CREATE TABLE portico.login_attempt (
    digest          bytea       PRIMARY KEY CHECK (length(digest) = 32),
    space_id        uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    server_id       uuid        NOT NULL,
    sealed          bytea       NOT NULL,
    begun_at        timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz NOT NULL,
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE,
    FOREIGN KEY (space_id, server_id) REFERENCES portico.server ON DELETE CASCADE
);
CREATE INDEX login_attempt_by_place
    ON portico.login_attempt (space_id, principal_id, server_id, begun_at);
CREATE INDEX login_attempt_by_age ON portico.login_attempt (expires_at);

DO $walls$
DECLARE
    walled text;
    wall text := $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)$$;
    own text := $$ AND principal_id = (SELECT nullif(current_setting('portico.principal', true), '')::uuid)$$;
    its_wall text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['token_subject', 'login_client', 'login', 'login_attempt'] LOOP
        its_wall := wall || CASE WHEN walled IN ('login', 'login_attempt') THEN own ELSE '' END;
        EXECUTE format('ALTER TABLE portico.%I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE portico.%I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format('CREATE POLICY space_wall ON portico.%I USING (%s) WITH CHECK (%s)', walled, its_wall, its_wall);
        EXECUTE format('CREATE POLICY owner_door ON portico.%I TO portico_owner USING (true) WITH CHECK (true)', walled);
    END LOOP;
END
$walls$;

GRANT SELECT, INSERT ON portico.token_subject TO portico_app;
GRANT SELECT, INSERT, DELETE, UPDATE (settings, sealed) ON portico.login_client TO portico_app;
GRANT SELECT, INSERT, DELETE, UPDATE (sealed, since) ON portico.login TO portico_app;
GRANT SELECT, INSERT, DELETE ON portico.login_attempt TO portico_app;

-- Somebody comes back from where they have logged in, and nobody knows yet who they are: the state
-- that they bring is the only thing that finds what they began: to be shown, and then once.
CREATE FUNCTION portico.take_login_attempt(wanted bytea, at timestamptz)
    RETURNS TABLE (space_id uuid, principal_id uuid, server_id uuid, sealed bytea)
    LANGUAGE sql SECURITY DEFINER SET search_path = portico, pg_temp
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
CREATE FUNCTION portico.find_login_attempt(wanted bytea, at timestamptz)
    RETURNS TABLE (space_id uuid, principal_id uuid, server_id uuid, sealed bytea)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT a.space_id, a.principal_id, a.server_id, a.sealed
          FROM portico.login_attempt a
         WHERE a.digest = wanted AND a.expires_at > at
    $$;
REVOKE ALL ON FUNCTION portico.find_login_attempt(bytea, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.find_login_attempt(bytea, timestamptz) TO portico_app;
REVOKE ALL ON FUNCTION portico.take_login_attempt(bytea, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.take_login_attempt(bytea, timestamptz) TO portico_app;
