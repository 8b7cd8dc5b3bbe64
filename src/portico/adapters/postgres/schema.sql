CREATE SCHEMA portico;

ALTER SCHEMA portico OWNER TO portico_owner;

CREATE FUNCTION portico.find_api_key(wanted text) RETURNS TABLE(key_id text, space_id uuid, principal_id uuid, purpose text, key_name text, digest bytea, scopes text[], key_level smallint, key_compartments text[], created_at timestamp with time zone, expires_at timestamp with time zone, last_used_at timestamp with time zone, revoked_at timestamp with time zone, kind text, name text, roles text[], grants text[], level smallint, compartments text[], principal_created_at timestamp with time zone, disabled_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.find_api_key(wanted text) OWNER TO portico_owner;

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
    CONSTRAINT api_key_digest_check CHECK ((length(digest) = 32)),
    CONSTRAINT api_key_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT api_key_name_check CHECK (((length(name) >= 1) AND (length(name) <= 300))),
    CONSTRAINT api_key_purpose_check CHECK ((purpose = ANY (ARRAY['access'::text, 'invitation'::text])))
);

ALTER TABLE ONLY portico.api_key FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.api_key OWNER TO portico_owner;

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
    CONSTRAINT principal_kind_check CHECK ((kind = ANY (ARRAY['person'::text, 'agent'::text, 'worker'::text]))),
    CONSTRAINT principal_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT principal_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
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

CREATE TABLE portico.schema_migration (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE portico.schema_migration OWNER TO portico_owner;

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

ALTER TABLE ONLY portico.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (key_id);

ALTER TABLE ONLY portico.principal
    ADD CONSTRAINT principal_pkey PRIMARY KEY (space_id, principal_id);

ALTER TABLE ONLY portico.principal
    ADD CONSTRAINT principal_space_id_name_key UNIQUE (space_id, name);

ALTER TABLE ONLY portico.receipt
    ADD CONSTRAINT receipt_pkey PRIMARY KEY (space_id, principal_id, operation, key);

ALTER TABLE ONLY portico.schema_migration
    ADD CONSTRAINT schema_migration_pkey PRIMARY KEY (number);

ALTER TABLE ONLY portico.setting
    ADD CONSTRAINT setting_pkey PRIMARY KEY (space_id, name);

ALTER TABLE ONLY portico.space
    ADD CONSTRAINT space_pkey PRIMARY KEY (space_id);

CREATE INDEX api_key_by_age ON portico.api_key USING btree (space_id, created_at, key_id);

CREATE INDEX api_key_by_principal ON portico.api_key USING btree (space_id, principal_id);

CREATE INDEX receipt_by_age ON portico.receipt USING btree (created_at);

ALTER TABLE ONLY portico.api_key
    ADD CONSTRAINT api_key_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.principal
    ADD CONSTRAINT principal_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.receipt
    ADD CONSTRAINT receipt_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.setting
    ADD CONSTRAINT setting_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE portico.api_key ENABLE ROW LEVEL SECURITY;

CREATE POLICY owner_door ON portico.api_key TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.principal TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.receipt TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.setting TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.space TO portico_owner USING (true) WITH CHECK (true);

ALTER TABLE portico.principal ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.receipt ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.setting ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.space ENABLE ROW LEVEL SECURITY;

CREATE POLICY space_wall ON portico.api_key USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.principal USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.receipt USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.setting USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.space USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

GRANT USAGE ON SCHEMA portico TO portico_app;

REVOKE ALL ON FUNCTION portico.find_api_key(wanted text) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.find_api_key(wanted text) TO portico_app;

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

GRANT SELECT,INSERT ON TABLE portico.principal TO portico_app;

GRANT UPDATE(roles) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(level) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(compartments) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(disabled_at) ON TABLE portico.principal TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.receipt TO portico_app;

GRANT UPDATE(body) ON TABLE portico.receipt TO portico_app;

GRANT SELECT ON TABLE portico.schema_migration TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.setting TO portico_app;

GRANT UPDATE(value) ON TABLE portico.setting TO portico_app;

GRANT UPDATE(updated_at) ON TABLE portico.setting TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.space TO portico_app;

GRANT UPDATE(name) ON TABLE portico.space TO portico_app;
