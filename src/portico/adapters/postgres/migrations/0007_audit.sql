-- What was done and decided, a chain of hashes a space.
--
-- Only append_audit writes here, and only its owner may write at all: whoever could insert rows
-- could also make up links. It takes who and where from the transaction, as row-level security
-- does, and number, time and hash from nobody. The entry is text, exactly as hashed: jsonb would
-- give back another text than was put in. No foreign key leads to the principal: who did it is
-- told for as long as there is the space, whatever becomes of them.

CREATE TABLE portico.audit_entry (
    space_id    uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    number      bigint      NOT NULL CHECK (number > 0),
    at          timestamptz NOT NULL,
    entry       text        NOT NULL,
    hash        bytea       NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (space_id, number)
);

CREATE TABLE portico.audit_head (
    space_id    uuid        PRIMARY KEY REFERENCES portico.space ON DELETE CASCADE,
    number      bigint      NOT NULL,
    hash        bytea       NOT NULL CHECK (length(hash) = 32)
);

ALTER TABLE portico.audit_entry ENABLE ROW LEVEL SECURITY;
ALTER TABLE portico.audit_entry FORCE ROW LEVEL SECURITY;
CREATE POLICY space_wall ON portico.audit_entry
    USING (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid))
    WITH CHECK (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid));
CREATE POLICY owner_door ON portico.audit_entry TO portico_owner USING (true) WITH CHECK (true);

ALTER TABLE portico.audit_head ENABLE ROW LEVEL SECURITY;
ALTER TABLE portico.audit_head FORCE ROW LEVEL SECURITY;
CREATE POLICY space_wall ON portico.audit_head
    USING (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid))
    WITH CHECK (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid));
CREATE POLICY owner_door ON portico.audit_head TO portico_owner USING (true) WITH CHECK (true);

GRANT SELECT ON portico.audit_entry, portico.audit_head TO portico_app;

-- Of each act given, as JSON, it makes an entry; gives the head that they end in.
-- The head's row is locked to the end of the transaction: a chain has one end.
CREATE FUNCTION portico.append_audit(acts text[], OUT number bigint, OUT hash bytea)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
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
REVOKE ALL ON FUNCTION portico.append_audit(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.append_audit(text[]) TO portico_app;
