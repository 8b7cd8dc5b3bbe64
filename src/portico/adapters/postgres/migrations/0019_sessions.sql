-- Sessions: what a browser holds once somebody has logged in to the console with a key of theirs.
--
-- A session is a key of its own kind, and belongs to the key that it was opened with: one of the
-- same space and of the same principal. It ends no later than that one, and is forgotten with it.

ALTER TABLE portico.api_key
    ADD COLUMN opened_with          text,
    ADD COLUMN opened_with_until    timestamptz;

COMMENT ON COLUMN portico.api_key.opened_with_until IS 'when that key ends; NULL: it does not';

ALTER TABLE portico.api_key DROP CONSTRAINT api_key_purpose_check;
ALTER TABLE portico.api_key ADD CONSTRAINT api_key_purpose_check
    CHECK (purpose IN ('access', 'invitation', 'session'));
ALTER TABLE portico.api_key ADD CONSTRAINT api_key_opened_with_check CHECK (
    CASE WHEN purpose = 'session' THEN opened_with IS NOT NULL AND expires_at IS NOT NULL
         ELSE opened_with IS NULL AND opened_with_until IS NULL END
);

-- Its id alone is what finds a key; the other two are here for the reference to hold them together.
ALTER TABLE portico.api_key ADD UNIQUE (space_id, principal_id, key_id);
DROP INDEX portico.api_key_by_principal;  -- what it was for begins the unique one
ALTER TABLE portico.api_key ADD FOREIGN KEY (space_id, principal_id, opened_with)
    REFERENCES portico.api_key (space_id, principal_id, key_id) ON DELETE CASCADE;
CREATE INDEX api_key_by_opener ON portico.api_key (space_id, opened_with)
    WHERE opened_with IS NOT NULL;

GRANT SELECT (opened_with, opened_with_until), UPDATE (opened_with_until) ON portico.api_key
    TO portico_app;

DROP FUNCTION portico.find_api_key(text);
CREATE FUNCTION portico.find_api_key(wanted text)
    RETURNS TABLE (
        key_id text, space_id uuid, principal_id uuid, purpose text, key_name text, digest bytea,
        scopes text[], key_level smallint, key_compartments text[], key_tools text[],
        opened_with text, opened_with_until timestamptz,
        created_at timestamptz, expires_at timestamptz, last_used_at timestamptz,
        revoked_at timestamptz,
        kind text, name text, roles text[], grants text[], level smallint, compartments text[],
        tools text[], principal_created_at timestamptz, disabled_at timestamptz
    )
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT k.key_id, k.space_id, k.principal_id, k.purpose, k.name, k.digest,
               k.scopes, k.level, k.compartments, k.tools,
               k.opened_with, k.opened_with_until,
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
