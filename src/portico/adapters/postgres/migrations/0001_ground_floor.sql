-- Spaces, who is in them, the keys they hold, what they have decided, and receipts of writes.
--
-- Every table that holds a space's rows has the column space_id and two policies:
--   space_wall   rows of the space that the transaction names, and no others; none without one.
--                The sub-select makes PostgreSQL evaluate it once a statement, not once a row;
--                nullif, because a setting once set in a session reads '' afterwards, not NULL.
--   owner_door   FORCE binds the owner too, and the owner backs up, migrates, and owns the
--                functions that must see every space.

CREATE SCHEMA portico;

CREATE TABLE portico.schema_migration (
    number      integer     PRIMARY KEY,
    name        text        NOT NULL,
    checksum    text        NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE portico.space (
    space_id    uuid        PRIMARY KEY,
    name        text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    created_at  timestamptz NOT NULL
);

CREATE TABLE portico.principal (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    principal_id    uuid        NOT NULL,
    kind            text        NOT NULL CHECK (kind IN ('person', 'agent', 'worker')),
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    roles           text[]      NOT NULL,
    grants          text[]      NOT NULL DEFAULT '{}',
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL,
    disabled_at     timestamptz,
    PRIMARY KEY (space_id, principal_id),
    UNIQUE (space_id, name)
);

CREATE TABLE portico.api_key (
    key_id          text        PRIMARY KEY,
    space_id        uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    purpose         text        NOT NULL CHECK (purpose IN ('access', 'invitation')),
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 300),
    digest          bytea       NOT NULL CHECK (length(digest) = 32),
    scopes          text[],
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL,
    expires_at      timestamptz,
    last_used_at    timestamptz,
    revoked_at      timestamptz,
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

CREATE INDEX api_key_by_age ON portico.api_key (space_id, created_at, key_id);
CREATE INDEX api_key_by_principal ON portico.api_key (space_id, principal_id);

CREATE TABLE portico.setting (
    space_id    uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    name        text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    value       jsonb       NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, name)
);

CREATE TABLE portico.receipt (
    space_id        uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    operation       text        NOT NULL,
    key             text        NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    fingerprint     text        NOT NULL,
    body            json,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, principal_id, operation, key),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

CREATE INDEX receipt_by_age ON portico.receipt (created_at);

ALTER TABLE portico.space ENABLE ROW LEVEL SECURITY;
ALTER TABLE portico.space FORCE ROW LEVEL SECURITY;
CREATE POLICY space_wall ON portico.space
    USING (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid))
    WITH CHECK (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid));
CREATE POLICY owner_door ON portico.space TO portico_owner USING (true) WITH CHECK (true);

ALTER TABLE portico.principal ENABLE ROW LEVEL SECURITY;
ALTER TABLE portico.principal FORCE ROW LEVEL SECURITY;
CREATE POLICY space_wall ON portico.principal
    USING (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid))
    WITH CHECK (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid));
CREATE POLICY owner_door ON portico.principal TO portico_owner USING (true) WITH CHECK (true);

ALTER TABLE portico.api_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE portico.api_key FORCE ROW LEVEL SECURITY;
CREATE POLICY space_wall ON portico.api_key
    USING (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid))
    WITH CHECK (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid));
CREATE POLICY owner_door ON portico.api_key TO portico_owner USING (true) WITH CHECK (true);

ALTER TABLE portico.setting ENABLE ROW LEVEL SECURITY;
ALTER TABLE portico.setting FORCE ROW LEVEL SECURITY;
CREATE POLICY space_wall ON portico.setting
    USING (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid))
    WITH CHECK (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid));
CREATE POLICY owner_door ON portico.setting TO portico_owner USING (true) WITH CHECK (true);

-- A receipt holds what one principal was answered: nobody else's in the same space either.
ALTER TABLE portico.receipt ENABLE ROW LEVEL SECURITY;
ALTER TABLE portico.receipt FORCE ROW LEVEL SECURITY;
CREATE POLICY space_wall ON portico.receipt
    USING (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)
       AND principal_id = (SELECT nullif(current_setting('portico.principal', true), '')::uuid))
    WITH CHECK (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)
       AND principal_id = (SELECT nullif(current_setting('portico.principal', true), '')::uuid));
CREATE POLICY owner_door ON portico.receipt TO portico_owner USING (true) WITH CHECK (true);

-- The application. It never reads a digest: only find_api_key does.
GRANT USAGE ON SCHEMA portico TO portico_app;
GRANT SELECT ON portico.schema_migration TO portico_app;
GRANT SELECT, INSERT, UPDATE (name), DELETE ON portico.space TO portico_app;
GRANT SELECT, INSERT, UPDATE (roles, level, compartments, disabled_at) ON portico.principal
    TO portico_app;
GRANT INSERT, UPDATE (expires_at, last_used_at, revoked_at) ON portico.api_key TO portico_app;
GRANT SELECT (key_id, space_id, principal_id, purpose, name, scopes, level, compartments,
              created_at, expires_at, last_used_at, revoked_at) ON portico.api_key TO portico_app;
GRANT SELECT, INSERT, UPDATE (value, updated_at), DELETE ON portico.setting TO portico_app;
GRANT SELECT, INSERT, UPDATE (body) ON portico.receipt TO portico_app;

-- A key is shown before its space is known, so this one question is asked with the owner's eyes.
CREATE FUNCTION portico.find_api_key(wanted text)
    RETURNS TABLE (
        key_id text, space_id uuid, principal_id uuid, purpose text, key_name text, digest bytea,
        scopes text[], key_level smallint, key_compartments text[], created_at timestamptz,
        expires_at timestamptz, last_used_at timestamptz, revoked_at timestamptz,
        kind text, name text, roles text[], grants text[], level smallint, compartments text[],
        principal_created_at timestamptz, disabled_at timestamptz
    )
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT k.key_id, k.space_id, k.principal_id, k.purpose, k.name, k.digest,
               k.scopes, k.level, k.compartments, k.created_at,
               k.expires_at, k.last_used_at, k.revoked_at,
               p.kind, p.name, p.roles, p.grants, p.level, p.compartments,
               p.created_at, p.disabled_at
          FROM portico.api_key k
          JOIN portico.principal p USING (space_id, principal_id)
         WHERE k.key_id = wanted
    $$;
REVOKE ALL ON FUNCTION portico.find_api_key(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.find_api_key(text) TO portico_app;
