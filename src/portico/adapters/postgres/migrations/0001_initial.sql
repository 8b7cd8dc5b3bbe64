-- The whole schema, domain by domain: guard, engine, gateway, workflows, learning, agents, bridge,
-- debate. Later changes are migrations of their own; this file does not change any more.
--
-- Three roles use it. portico_owner owns everything, migrates and backs up. portico_app serves
-- callers, one space at a time. portico_engine hands work to processes and removes what is old: it
-- sees every space, and of each row only what it needs for that.
--
-- Every table that holds a space's rows has the column space_id, row-level security that also binds
-- the owner (FORCE), and these policies:
--   space_wall    The rows that the transaction may see and write. Without settings, none.
--   owner_door    The owner sees every row: it backs up, migrates, and owns the functions that must
--                 see every space.
--   engine_door   The engine sees every row, where it has a part in the table; its grants say which
--                 columns.

CREATE SCHEMA portico;

CREATE TABLE portico.schema_migration (
    number      integer     PRIMARY KEY,
    name        text        NOT NULL,
    checksum    text        NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT now()
);

GRANT USAGE ON SCHEMA portico TO portico_app, portico_engine;
GRANT SELECT ON portico.schema_migration TO portico_app;

-- Conditions of policies, by what the transaction says of its caller. Each is a sub-select, which
-- PostgreSQL evaluates once a statement and not once a row; nullif, because a setting once set in a
-- session reads '' afterwards, not NULL. These functions are dropped at the end of this file.

CREATE FUNCTION pg_temp.in_space() RETURNS text LANGUAGE sql RETURN
    $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)$$;

CREATE FUNCTION pg_temp.callers_own() RETURNS text LANGUAGE sql RETURN
    $$principal_id = (SELECT nullif(current_setting('portico.principal', true), '')::uuid)$$;

CREATE FUNCTION pg_temp.cleared() RETURNS text LANGUAGE sql RETURN
    $$level <= (SELECT coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint)
        AND compartments <@ (SELECT string_to_array(coalesce(current_setting('portico.compartments', true), ''), ','))$$;

-- In a condition, %1$I is the table.
CREATE FUNCTION pg_temp.protect(tables text[], VARIADIC conditions text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
        DECLARE
            protected text;
            condition text;
        BEGIN
            FOREACH protected IN ARRAY tables LOOP
                condition := format(array_to_string(conditions, ' AND '), protected);
                EXECUTE format('ALTER TABLE portico.%I ENABLE ROW LEVEL SECURITY', protected);
                EXECUTE format('ALTER TABLE portico.%I FORCE ROW LEVEL SECURITY', protected);
                EXECUTE format('CREATE POLICY space_wall ON portico.%I USING (%s) WITH CHECK (%s)',
                               protected, condition, condition);
                EXECUTE format('CREATE POLICY owner_door ON portico.%I TO portico_owner'
                               ' USING (true) WITH CHECK (true)', protected);
            END LOOP;
        END
    $$;

CREATE FUNCTION pg_temp.open_to_engine(VARIADIC tables text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
        DECLARE
            opened text;
        BEGIN
            FOREACH opened IN ARRAY tables LOOP
                EXECUTE format('CREATE POLICY engine_door ON portico.%I TO portico_engine'
                               ' USING (true) WITH CHECK (true)', opened);
            END LOOP;
        END
    $$;

-- Nothing is written below the label of what was read in the context that writes it. `new` is for
-- rows that are added, `changed` for those whose label or content changes.
CREATE FUNCTION pg_temp.forbid_write_down(new text[], changed text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
        DECLARE
            guarded text;
        BEGIN
            FOREACH guarded IN ARRAY new LOOP
                EXECUTE format('CREATE POLICY no_write_down ON portico.%I AS RESTRICTIVE FOR INSERT TO portico_app'
                               ' WITH CHECK (portico.mark_covered(level, compartments))', guarded);
            END LOOP;
            FOREACH guarded IN ARRAY changed LOOP
                EXECUTE format('CREATE POLICY no_change_down ON portico.%I AS RESTRICTIVE FOR UPDATE TO portico_app'
                               ' USING (true) WITH CHECK (portico.mark_covered(level, compartments))', guarded);
            END LOOP;
        END
    $$;


-- ================================================================================================
-- Guard: spaces, principals, keys, rules, contexts, approvals, limits, audit
-- ================================================================================================

CREATE TABLE portico.space (
    space_id    uuid        PRIMARY KEY,
    name        text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    created_at  timestamptz NOT NULL
);

-- `tools`: NULL is every tool; an empty list is none.
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
    tools           text[]      CHECK (cardinality(tools) <= 200),
    PRIMARY KEY (space_id, principal_id),
    UNIQUE (space_id, name)
);

-- A browser session is a key of its own kind. It belongs to the key that it was opened with, of the
-- same principal, ends no later than that one and is deleted with it.
-- `elicits_for`: whose answers the program with this key passes on; nobody's until an operator says.
-- The unique triple is there for the foreign key of sessions; its first columns serve as an index.
CREATE TABLE portico.api_key (
    key_id              text        PRIMARY KEY,
    space_id            uuid        NOT NULL,
    principal_id        uuid        NOT NULL,
    purpose             text        NOT NULL
        CHECK (purpose IN ('access', 'invitation', 'session')),
    name                text        NOT NULL CHECK (length(name) BETWEEN 1 AND 300),
    digest              bytea       NOT NULL CHECK (length(digest) = 32),
    scopes              text[],
    level               smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments        text[]      NOT NULL DEFAULT '{}',
    created_at          timestamptz NOT NULL,
    expires_at          timestamptz,
    last_used_at        timestamptz,
    revoked_at          timestamptz,
    tools               text[]      CHECK (cardinality(tools) <= 200),
    elicits_for         uuid,
    opened_with         text,
    opened_with_until   timestamptz,
    UNIQUE (space_id, principal_id, key_id),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE,
    FOREIGN KEY (space_id, elicits_for)
        REFERENCES portico.principal ON DELETE SET NULL (elicits_for),
    FOREIGN KEY (space_id, principal_id, opened_with)
        REFERENCES portico.api_key (space_id, principal_id, key_id) ON DELETE CASCADE,
    CONSTRAINT api_key_opened_with_check CHECK (
        CASE WHEN purpose = 'session' THEN opened_with IS NOT NULL AND expires_at IS NOT NULL
             ELSE opened_with IS NULL AND opened_with_until IS NULL END)
);
CREATE INDEX api_key_by_age ON portico.api_key (space_id, created_at, key_id);
CREATE INDEX api_key_by_opener ON portico.api_key (space_id, opened_with)
    WHERE opened_with IS NOT NULL;
COMMENT ON COLUMN portico.api_key.opened_with_until IS 'when that key ends; NULL: it does not';

CREATE TABLE portico.setting (
    space_id    uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    name        text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    value       jsonb       NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, name)
);

-- Principals that were made when a token of theirs was first seen. A named principal needs no row.
CREATE TABLE portico.token_subject (
    space_id        uuid        NOT NULL,
    issuer          text        NOT NULL CHECK (length(issuer) BETWEEN 1 AND 1000),
    subject         text        NOT NULL CHECK (length(subject) BETWEEN 1 AND 300),
    principal_id    uuid        NOT NULL,
    PRIMARY KEY (space_id, issuer, subject),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

-- A rule is made and removed, never changed.
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

-- What the calls of one context have read so far.
CREATE TABLE portico.taint_context (
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
CREATE INDEX taint_context_by_principal ON portico.taint_context (space_id, principal_id, opened_at);

-- Requests for approval of one call, once: who asks for what, the answer and the outcome. Arguments
-- are here twice: redacted, for people, and encrypted, for the call itself; the encrypted ones are
-- removed as soon as no call can be made with them any more. The waiter is a run that cannot go on
-- without the answer; its label is kept with it, since the approver need not be cleared for the run.
CREATE TABLE portico.approval (
    space_id            uuid        NOT NULL,
    approval_id         uuid        NOT NULL,
    principal_id        uuid        NOT NULL,
    asker               text        NOT NULL,
    asker_kind          text        NOT NULL CHECK (asker_kind IN ('person', 'agent', 'worker')),
    key_id              text,
    named_context       uuid,
    context_id          uuid        NOT NULL,
    action              text        NOT NULL,
    tool                text        NOT NULL,
    server              text        NOT NULL,
    effect              text        NOT NULL,
    pin                 text        NOT NULL,
    launch              text        NOT NULL,
    hash                text        NOT NULL CHECK (length(hash) = 64),
    level               smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments        text[]      NOT NULL DEFAULT '{}',
    tainted             boolean     NOT NULL,
    arguments           json        NOT NULL,
    sealed              bytea       NOT NULL,
    marks               json        NOT NULL,
    before              json        NOT NULL,
    rule                text        NOT NULL,
    reason              text        NOT NULL,
    asked_at            timestamptz NOT NULL,
    expires_at          timestamptz NOT NULL,
    run_id              uuid        NOT NULL,
    status              text        NOT NULL CHECK (status IN
        ('waiting', 'approved', 'rejected', 'expired', 'replaced', 'withdrawn')),
    answer              text        CHECK (answer IN ('once', 'run', 'always', 'reject')),
    answered_by         uuid,
    answerer            text,
    answered_via        text,
    answered_at         timestamptz,
    answer_reason       text        CHECK (length(answer_reason) <= 2000),
    rule_made           text,
    replaces            uuid,
    replaced_by         uuid,
    claimed_at          timestamptz,
    outcome             text        CHECK (outcome IN ('done', 'failed', 'uncertain', 'skipped')),
    ended_at            timestamptz,
    error               text,
    result              text,
    collected_at        timestamptz,
    resolved_by         text,
    waiter_run          uuid,
    waiter_topic        text        CHECK (length(waiter_topic) BETWEEN 1 AND 200),
    waiter_level        smallint    CHECK (waiter_level BETWEEN 0 AND 3),
    waiter_compartments text[],
    PRIMARY KEY (space_id, approval_id),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE,
    CHECK (status <> 'approved' OR answer IN ('once', 'run', 'always')),
    CHECK (claimed_at IS NULL OR status = 'approved'),
    CHECK (outcome IS NULL OR claimed_at IS NOT NULL),
    CHECK (num_nonnulls(waiter_run, waiter_topic, waiter_level, waiter_compartments) IN (0, 4))
);
-- Of the same call in the same context one request is open at a time; a run that waits has its own.
CREATE UNIQUE INDEX approval_open ON portico.approval (space_id, principal_id, context_id, hash)
    WHERE status IN ('waiting', 'approved') AND collected_at IS NULL
      AND (outcome IS NULL OR outcome = 'uncertain') AND waiter_run IS NULL;
CREATE UNIQUE INDEX approval_of_waiter ON portico.approval (space_id, waiter_run, waiter_topic)
    WHERE replaces IS NULL AND waiter_run IS NOT NULL;
CREATE INDEX approval_of_run ON portico.approval (space_id, waiter_run)
    WHERE waiter_run IS NOT NULL;
CREATE INDEX approval_by_call
    ON portico.approval (space_id, principal_id, context_id, hash, approval_id);
CREATE INDEX approval_waiting ON portico.approval (space_id, principal_id)
    WHERE status = 'waiting';
CREATE INDEX approval_by_age ON portico.approval (asked_at);

-- Calls of the last minute by subject, counted across processes. `taken` is a ring with a counter for
-- each slot of time, at the slot's number modulo their count; `slot` is the newest. A row is updated
-- many times a second.
CREATE TABLE portico.call_count (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    subject         text        NOT NULL CHECK (length(subject) BETWEEN 1 AND 400),
    slot            bigint      NOT NULL,
    taken           integer[]   NOT NULL,
    PRIMARY KEY (space_id, subject)
) WITH (fillfactor = 50);

-- What pieces of work may cost, have reserved and have spent.
CREATE TABLE portico.budget (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    opened_at       timestamptz NOT NULL DEFAULT now(),
    cap_tokens      bigint      NOT NULL CHECK (cap_tokens >= 0),
    cap_money       numeric     NOT NULL CHECK (cap_money >= 0),
    cap_time        interval    NOT NULL CHECK (cap_time >= '0'),
    cap_calls       bigint      NOT NULL CHECK (cap_calls >= 0),
    held_tokens     bigint      NOT NULL DEFAULT 0 CHECK (held_tokens BETWEEN 0 AND cap_tokens),
    held_money      numeric     NOT NULL DEFAULT 0 CHECK (held_money BETWEEN 0 AND cap_money),
    held_time       interval    NOT NULL DEFAULT '0' CHECK (held_time BETWEEN '0' AND cap_time),
    held_calls      bigint      NOT NULL DEFAULT 0 CHECK (held_calls BETWEEN 0 AND cap_calls),
    PRIMARY KEY (space_id, name)
);
COMMENT ON COLUMN portico.budget.held_tokens IS 'spent or reserved, as are the others of this name';

CREATE TABLE portico.budget_reservation (
    space_id        uuid        NOT NULL,
    budget          text        NOT NULL,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    made_at         timestamptz NOT NULL DEFAULT now(),
    tokens          bigint      NOT NULL CHECK (tokens >= 0),
    money           numeric     NOT NULL CHECK (money >= 0),
    time            interval    NOT NULL CHECK (time >= '0'),
    calls           bigint      NOT NULL CHECK (calls >= 0),
    PRIMARY KEY (space_id, budget, name),
    FOREIGN KEY (space_id, budget) REFERENCES portico.budget ON DELETE CASCADE
);

-- What was done and decided: a chain of hashes for each space. Only append_audit writes here, with
-- its owner's rights: who could insert rows could also make up links. An entry is text, exactly as
-- hashed, since jsonb would give back another text than was put in. No foreign key leads to the
-- principal: who did it is on record for as long as the space exists.
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

SELECT pg_temp.protect('{space, principal, api_key, setting, token_subject, policy_rule, taint_context,
                         call_count, budget, budget_reservation, audit_entry, audit_head}',
                       pg_temp.in_space());
SELECT pg_temp.protect('{approval}', pg_temp.in_space(), pg_temp.cleared());
SELECT pg_temp.open_to_engine('approval');

GRANT SELECT, INSERT, UPDATE (name), DELETE ON portico.space TO portico_app;
GRANT SELECT, INSERT, UPDATE (name, roles, level, compartments, disabled_at, tools)
    ON portico.principal TO portico_app;
-- All of a key but its digest, which only find_api_key reads.
GRANT SELECT (key_id, space_id, principal_id, purpose, name, scopes, level, compartments, tools,
              created_at, expires_at, last_used_at, revoked_at, elicits_for, opened_with,
              opened_with_until),
      INSERT, UPDATE (expires_at, last_used_at, revoked_at, elicits_for, opened_with_until)
    ON portico.api_key TO portico_app;
GRANT SELECT, INSERT, UPDATE (value, updated_at), DELETE ON portico.setting TO portico_app;
GRANT SELECT, INSERT ON portico.token_subject TO portico_app;
GRANT SELECT, INSERT, DELETE ON portico.policy_rule TO portico_app;
GRANT SELECT, INSERT, DELETE, UPDATE (level, compartments, untrusted, closed_at)
    ON portico.taint_context TO portico_app;
-- What was asked never changes.
GRANT SELECT, INSERT,
      UPDATE (sealed, expires_at, status, answer, answered_by, answerer, answered_via, answered_at,
              answer_reason, rule_made, replaced_by, claimed_at, outcome, ended_at, error, result,
              collected_at, resolved_by) ON portico.approval TO portico_app;
GRANT SELECT (space_id, approval_id, asked_at, outcome), DELETE ON portico.approval
    TO portico_engine;
GRANT SELECT, INSERT, UPDATE (slot, taken) ON portico.call_count TO portico_app;
GRANT SELECT, INSERT, UPDATE (held_tokens, held_money, held_time, held_calls), DELETE
    ON portico.budget TO portico_app;
GRANT SELECT, INSERT, DELETE ON portico.budget_reservation TO portico_app;
GRANT SELECT ON portico.audit_entry, portico.audit_head TO portico_app;

-- With the owner's rights: a key is shown before its space is known.
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

-- With the owner's rights: whether rows of this label may be written in the current context. Without
-- a context nothing may.
CREATE FUNCTION portico.mark_covered(its_level smallint, its_compartments text[])
    RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT NOT EXISTS (
            SELECT FROM portico.taint_context t
             WHERE t.space_id = nullif(current_setting('portico.space', true), '')::uuid
               AND t.context_id = nullif(current_setting('portico.context', true), '')::uuid
               AND NOT (t.level <= its_level AND t.compartments <@ its_compartments))
           AND nullif(current_setting('portico.context', true), '') IS NOT NULL
    $$;

-- Grants calls out of what is left of each subject's limit in the last `slots` slots, by this
-- server's clock. Callers that wait are served first; nobody is granted more than an eighth of the
-- rest ahead of time, so that the last calls go to those who need them. What a process was granted and
-- has not used returns to its slot. It runs with the caller's own rights.
CREATE FUNCTION portico.take_calls(
        subjects text[], most integer[], ahead integer[], waiting integer[], back integer[],
        back_slot bigint[], slot_seconds double precision, slots integer)
    RETURNS TABLE (subject text, granted integer, slot bigint, wait_seconds double precision)
    LANGUAGE plpgsql SET search_path = portico, pg_temp
    AS $$
        DECLARE
            wish record;
            here uuid := current_setting('portico.space')::uuid;
            last bigint;
            counts integer[];
            clock double precision;
            free integer;
        BEGIN
            -- what a crash of the machine loses of the last second is not worth waiting for a disk
            PERFORM set_config('synchronous_commit', 'off', true);
            FOR wish IN
                SELECT * FROM unnest(subjects, most, ahead, waiting, back, back_slot)
                           AS w(who, most, ahead, waiting, back, back_slot)
                 ORDER BY who
            LOOP
                INSERT INTO portico.call_count AS c (space_id, subject, slot, taken)
                VALUES (here, wish.who, 0, array_fill(0, ARRAY[slots]))
                    ON CONFLICT DO NOTHING;
                SELECT c.slot, c.taken INTO last, counts FROM portico.call_count c
                 WHERE c.space_id = here AND c.subject = wish.who FOR UPDATE;
                clock := extract(epoch FROM clock_timestamp());
                slot := floor(clock / slot_seconds);
                IF slot < last AND last - slot < slots THEN
                    slot := last;  -- the clock was set back a little: no slot is counted twice
                END IF;
                IF slot < last OR slot - last >= slots OR cardinality(counts) <> slots THEN
                    counts := array_fill(0, ARRAY[slots]);
                ELSE
                    FOR step IN 1 .. (slot - last)::integer LOOP
                        counts[(last + step) % slots + 1] := 0;
                    END LOOP;
                END IF;
                IF wish.back > 0 AND wish.back_slot BETWEEN slot - slots + 1 AND slot THEN
                    counts[wish.back_slot % slots + 1] :=
                        greatest(counts[wish.back_slot % slots + 1] - wish.back, 0);
                END IF;
                free := greatest(wish.most - (SELECT sum(each) FROM unnest(counts) AS each), 0);
                granted := least(free, greatest(wish.waiting, least(wish.ahead, free / 8)));
                counts[slot % slots + 1] := counts[slot % slots + 1] + granted;
                UPDATE portico.call_count AS c SET slot = take_calls.slot, taken = counts
                 WHERE c.space_id = here AND c.subject = wish.who;
                wait_seconds := 0;
                IF granted = 0 THEN
                    SELECT (min(each) + slots) * slot_seconds - clock INTO wait_seconds
                      FROM generate_series(slot - slots + 1, slot) AS each
                     WHERE counts[each % slots + 1] > 0;
                END IF;
                subject := wish.who;
                RETURN NEXT;
            END LOOP;
        END
    $$;

-- With the owner's rights: appends an entry for each act, a JSON object, and returns the new head. The
-- row of the head is locked until the transaction ends: a chain has one end.
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

REVOKE ALL ON FUNCTION portico.find_api_key, portico.mark_covered, portico.take_calls,
    portico.append_audit FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.find_api_key, portico.mark_covered, portico.take_calls,
    portico.append_audit TO portico_app;


-- ================================================================================================
-- Engine: durable runs with their steps and signals, the event log, idempotency
-- ================================================================================================

CREATE TABLE portico.run (
    space_id                uuid        NOT NULL,
    run_id                  uuid        NOT NULL,
    principal_id            uuid        NOT NULL,
    kind                    text        NOT NULL CHECK (length(kind) BETWEEN 1 AND 100),
    fingerprint             text        NOT NULL,
    level                   smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments            text[]      NOT NULL DEFAULT '{}',
    clearance_level         smallint    NOT NULL CHECK (clearance_level BETWEEN 0 AND 3),
    clearance_compartments  text[]      NOT NULL DEFAULT '{}',
    scopes                  text[]      NOT NULL DEFAULT '{}',
    queue                   text        NOT NULL,
    partition_key           text,
    priority                integer     NOT NULL DEFAULT 0,
    status                  text        NOT NULL CHECK (status IN
        ('queued', 'running', 'waiting', 'done', 'failed', 'cancelled', 'stuck')),
    leg                     integer     NOT NULL DEFAULT 1,
    claim                   uuid,
    executor                text,
    attempts                integer     NOT NULL DEFAULT 0,
    waits_for               text[]      NOT NULL DEFAULT '{}',
    wakes_at                timestamptz,
    forked_from             uuid,
    trace                   text,
    input                   json        NOT NULL,
    result                  json,
    error                   json,
    created_at              timestamptz NOT NULL,
    started_at              timestamptz,
    finished_at             timestamptz,
    changed_at              timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, run_id),
    UNIQUE (run_id),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

CREATE INDEX run_by_age ON portico.run (space_id, created_at, run_id);
CREATE INDEX run_in_flight ON portico.run (changed_at) WHERE status IN ('queued', 'running');
CREATE INDEX run_wakes ON portico.run (wakes_at) WHERE status = 'waiting' AND wakes_at IS NOT NULL;
CREATE INDEX run_finished ON portico.run (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE portico.run_step (
    space_id        uuid        NOT NULL,
    run_id          uuid        NOT NULL,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 300),
    number          integer     NOT NULL,
    state           text        NOT NULL CHECK (state IN ('open', 'done', 'failed')),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    output          json,
    error           json,
    due_at          timestamptz,
    started_at      timestamptz NOT NULL,
    finished_at     timestamptz,
    PRIMARY KEY (space_id, run_id, name),
    FOREIGN KEY (space_id, run_id) REFERENCES portico.run ON DELETE CASCADE
);

CREATE TABLE portico.run_signal (
    space_id        uuid        NOT NULL,
    run_id          uuid        NOT NULL,
    topic           text        NOT NULL CHECK (length(topic) BETWEEN 1 AND 200),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    principal_id    uuid        NOT NULL,
    payload         json        NOT NULL,
    sent_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, run_id, topic),
    FOREIGN KEY (space_id, run_id) REFERENCES portico.run ON DELETE CASCADE
);

-- `last` is the number of the newest entry. An append holds this row until it commits, so that numbers
-- have no gaps and entries become visible in order. `first` is the oldest entry that is kept.
CREATE TABLE portico.stream (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    topic           text        NOT NULL CHECK (length(topic) BETWEEN 1 AND 200),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    first           bigint      NOT NULL DEFAULT 1,
    last            bigint      NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, topic)
) WITH (fillfactor = 50);

CREATE TABLE portico.event (
    space_id        uuid        NOT NULL,
    topic           text        NOT NULL,
    number          bigint      NOT NULL,
    at              timestamptz NOT NULL DEFAULT clock_timestamp(),
    event_id        uuid        NOT NULL,
    type            text        NOT NULL CHECK (length(type) BETWEEN 1 AND 100),
    principal_id    uuid,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    facts           json        NOT NULL,
    PRIMARY KEY (space_id, topic, number, at),
    FOREIGN KEY (space_id, topic) REFERENCES portico.stream ON DELETE CASCADE
) PARTITION BY RANGE (at);

-- For events of months that have no table: an append never fails for want of one.
CREATE TABLE portico.event_other PARTITION OF portico.event DEFAULT;

-- The response to each write that had an idempotency key.
CREATE TABLE portico.idempotency_record (
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
CREATE INDEX idempotency_record_by_age ON portico.idempotency_record (created_at);

-- Libraries that keep tables beside ours, and the version that made them.
CREATE TABLE portico.component_version (
    name        text        PRIMARY KEY,
    version     text        NOT NULL,
    migrated_at timestamptz NOT NULL DEFAULT now()
);

SELECT pg_temp.protect('{run, run_step, run_signal, stream, event, event_other}',
                       pg_temp.in_space(), pg_temp.cleared());
SELECT pg_temp.protect('{idempotency_record}', pg_temp.in_space(), pg_temp.callers_own());
SELECT pg_temp.open_to_engine('run', 'stream', 'event', 'idempotency_record');

GRANT SELECT, INSERT,
      UPDATE (status, leg, claim, executor, attempts, waits_for, wakes_at, result, error,
              started_at, finished_at, changed_at) ON portico.run TO portico_app;
GRANT SELECT, INSERT, UPDATE (number, state, output, error, due_at, finished_at), DELETE
    ON portico.run_step TO portico_app;
GRANT SELECT, INSERT ON portico.run_signal TO portico_app;
GRANT SELECT, INSERT, UPDATE (last) ON portico.stream TO portico_app;
GRANT SELECT, INSERT ON portico.event TO portico_app;
GRANT SELECT, INSERT, UPDATE (body) ON portico.idempotency_record TO portico_app;

-- Ids, states and times: no input, output, answer or facts of an event.
GRANT SELECT (space_id, run_id, principal_id, kind, level, compartments, clearance_level,
              clearance_compartments, queue, partition_key, priority, status, leg, claim, executor,
              attempts, wakes_at, created_at, started_at, finished_at, changed_at),
      UPDATE (status, leg, claim, executor, attempts, wakes_at, started_at, finished_at,
              changed_at),
      DELETE ON portico.run TO portico_engine;
GRANT SELECT (space_id, topic, first, last, created_at), UPDATE (first), DELETE
    ON portico.stream TO portico_engine;
GRANT SELECT (space_id, topic, number, at), DELETE ON portico.event TO portico_engine;
GRANT SELECT (space_id, principal_id, operation, key, created_at), DELETE
    ON portico.idempotency_record TO portico_engine;

-- A run that somebody resumes or forks goes on with what they may now.
GRANT UPDATE (input, clearance_level, clearance_compartments, scopes) ON portico.run
    TO portico_app;

-- The most frequent writes, in one round trip and with cached plans: the statement itself sets the
-- caller of the transaction. These functions run with the caller's rights.
CREATE FUNCTION portico.enter(
    asking_space uuid, asking uuid, asking_level smallint, asking_compartments text
)
    RETURNS void
    LANGUAGE sql
    AS $$
        SELECT set_config('portico.space', asking_space::text, true),
               set_config('portico.principal', asking::text, true),
               set_config('portico.level', asking_level::text, true),
               set_config('portico.compartments', asking_compartments, true)
    $$;

CREATE FUNCTION portico.append_event(
    asking_space uuid, asking uuid, asking_level smallint, asking_compartments text,
    its_topic text, topic_level smallint, topic_compartments text[],
    its_event uuid, its_type text, its_level smallint, its_compartments text[], its_facts json
)
    RETURNS bigint
    LANGUAGE plpgsql
    AS $$
        DECLARE
            held record;
        BEGIN
            PERFORM portico.enter(asking_space, asking, asking_level, asking_compartments);
            INSERT INTO portico.stream AS s (space_id, topic, level, compartments, last)
            VALUES (asking_space, its_topic, topic_level, topic_compartments, 1)
            ON CONFLICT (space_id, topic) DO UPDATE SET last = s.last + 1
            RETURNING s.last, s.level, s.compartments INTO held;
            INSERT INTO portico.event (
                space_id, topic, number, event_id, type, principal_id, level, compartments, facts
            ) VALUES (
                asking_space, its_topic, held.last, its_event, its_type, asking,
                greatest(held.level, its_level),
                CASE WHEN its_compartments <@ held.compartments THEN held.compartments
                     ELSE ARRAY(SELECT DISTINCT unnest(held.compartments || its_compartments)
                                 ORDER BY 1) END,
                its_facts
            );
            RETURN held.last;
        END
    $$;

-- Several events of one caller. Topics are locked in the order of their names; each event has the
-- number that it would have had one by one.
CREATE FUNCTION portico.append_events(
    asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, entries json
)
    RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
        DECLARE
            numbers bigint[];
        BEGIN
            PERFORM portico.enter(asking_space, asking, asking_level, asking_compartments);
            WITH given AS MATERIALIZED (
                SELECT e.*,
                       row_number() OVER (PARTITION BY e.topic ORDER BY e.place) AS turn,
                       count(*) OVER (PARTITION BY e.topic) AS many
                  FROM ROWS FROM (json_to_recordset(entries) AS (
                           topic text, topic_level smallint, topic_compartments text[], event uuid,
                           type text, level smallint, compartments text[], facts json
                       )) WITH ORDINALITY AS e (
                           topic, topic_level, topic_compartments, event, type, level,
                           compartments, facts, place)
            ), held AS (
                INSERT INTO portico.stream AS s (space_id, topic, level, compartments, last)
                SELECT asking_space, g.topic, g.topic_level, g.topic_compartments, g.many
                  FROM given g WHERE g.turn = 1 ORDER BY g.topic
                ON CONFLICT (space_id, topic) DO UPDATE SET last = s.last + excluded.last
                RETURNING s.topic, s.last, s.level, s.compartments
            ), told AS (
                INSERT INTO portico.event (
                    space_id, topic, number, event_id, type, principal_id, level, compartments,
                    facts
                )
                SELECT asking_space, g.topic, h.last - g.many + g.turn, g.event, g.type, asking,
                       greatest(h.level, g.level),
                       CASE WHEN g.compartments <@ h.compartments THEN h.compartments
                            ELSE ARRAY(SELECT DISTINCT unnest(h.compartments || g.compartments)
                                        ORDER BY 1) END,
                       g.facts
                  FROM given g JOIN held h ON h.topic = g.topic
            )
            SELECT array_agg(h.last - g.many + g.turn ORDER BY g.place) INTO numbers
              FROM given g JOIN held h ON h.topic = g.topic;
            RETURN numbers;
        END
    $$;

-- False if another worker has claimed the run. A claim waits for steps that are being written, so that
-- nothing is written after the claim has read the steps.
CREATE FUNCTION portico.finish_step(
    asking_space uuid, asking uuid, asking_level smallint, asking_compartments text,
    its_run uuid, its_claim uuid, its_name text, its_number integer, its_state text,
    its_output json, its_error json, its_due timestamptz, its_start timestamptz,
    its_end timestamptz, its_topic text, its_event uuid, its_type text, its_facts json
)
    RETURNS boolean
    LANGUAGE plpgsql
    AS $$
        DECLARE
            mine record;
        BEGIN
            PERFORM portico.enter(asking_space, asking, asking_level, asking_compartments);
            SELECT r.level, r.compartments INTO mine
              FROM portico.run r
             WHERE r.space_id = asking_space AND r.run_id = its_run AND r.claim = its_claim
               FOR SHARE;
            IF NOT FOUND THEN
                RETURN false;
            END IF;
            INSERT INTO portico.run_step AS s (
                space_id, run_id, name, number, state, level, compartments, output, error,
                due_at, started_at, finished_at
            ) VALUES (
                asking_space, its_run, its_name, its_number, its_state, mine.level,
                mine.compartments, its_output, its_error, its_due, its_start, its_end
            )
            ON CONFLICT (space_id, run_id, name) DO UPDATE
               SET number = excluded.number, state = excluded.state, output = excluded.output,
                   error = excluded.error, finished_at = excluded.finished_at
             WHERE s.state = 'open' AND excluded.state <> 'open';
            IF FOUND THEN
                PERFORM portico.append_event(
                    asking_space, asking, asking_level, asking_compartments, its_topic,
                    mine.level, mine.compartments, its_event, its_type, mine.level,
                    mine.compartments, its_facts);
            END IF;
            RETURN true;
        END
    $$;

-- A month is a table, and only the owner makes and drops tables: these two do it for the engine. Both
-- need the log to themselves, and every append waits behind them meanwhile: so they give up soon and
-- are called again. Months begin and end in UTC.
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

-- The earlier names of both, for events alone.
CREATE OR REPLACE FUNCTION portico.prepare_event_months(ahead integer)
    RETURNS integer
    LANGUAGE sql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$ SELECT portico.prepare_months('event', ahead) $$;

CREATE OR REPLACE FUNCTION portico.drop_event_months(before timestamptz)
    RETURNS integer
    LANGUAGE sql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$ SELECT portico.drop_months('event', before) $$;

REVOKE ALL ON FUNCTION portico.enter, portico.append_event, portico.append_events,
    portico.finish_step, portico.prepare_months, portico.drop_months, portico.prepare_event_months,
    portico.drop_event_months FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.enter, portico.append_event, portico.append_events,
    portico.finish_step TO portico_app;
GRANT EXECUTE ON FUNCTION portico.prepare_months, portico.drop_months,
    portico.prepare_event_months, portico.drop_event_months TO portico_engine;


-- ================================================================================================
-- Gateway: servers, tools, logins at servers, calls, results
-- ================================================================================================

-- What a server says of its tools is `json`, not `jsonb`: a pin is a hash over its numbers as they
-- came, and jsonb writes numbers anew. No secret is here: a launch holds references. A server is seen
-- whole or not at all; what is above a caller's clearance is left out by the application, since the
-- catalog is loaded once for everybody.
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
    profile                 jsonb       CHECK (jsonb_typeof(profile) = 'object'),
    unboxed                 jsonb       CHECK (jsonb_typeof(unboxed) = 'object'),
    label_level             smallint    NOT NULL DEFAULT 0 CHECK (label_level BETWEEN 0 AND 3),
    label_compartments      text[]      NOT NULL DEFAULT '{}',
    clearance_level         smallint    NOT NULL DEFAULT 1 CHECK (clearance_level BETWEEN 0 AND 3),
    clearance_compartments  text[]      NOT NULL DEFAULT '{}',
    trusted                 boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (space_id, server_id),
    UNIQUE (space_id, name),
    UNIQUE (space_id, origin, entry)
);

-- `accepted_definition` is stored only where it differs from `definition`: most tools are as they were
-- accepted.
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

-- Vectors do not get shorter by compression.
CREATE TABLE portico.embedding (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    model           text        NOT NULL CHECK (length(model) BETWEEN 1 AND 300),
    content_key     text        NOT NULL CHECK (length(content_key) BETWEEN 1 AND 200),
    vector          bytea       STORAGE EXTERNAL NOT NULL CHECK (length(vector) % 4 = 0),
    made_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space_id, model, content_key)
);

-- The OAuth client that Portico is at each server. Its secret is encrypted, or stored elsewhere and
-- referred to.
CREATE TABLE portico.login_client (
    space_id        uuid        NOT NULL,
    server_id       uuid        NOT NULL,
    settings        jsonb       NOT NULL CHECK (jsonb_typeof(settings) = 'object'),
    sealed          bytea,
    PRIMARY KEY (space_id, server_id),
    FOREIGN KEY (space_id, server_id) REFERENCES portico.server ON DELETE CASCADE
);

-- The encrypted tokens of one person at one server, and logins that have begun. Only that person sees
-- either.
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

-- A call without an outcome is in progress, or was when its process died.
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
    context_id      uuid,
    level           smallint    NOT NULL DEFAULT 0 CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    PRIMARY KEY (space_id, call_id, started_at)
) PARTITION BY RANGE (started_at);
CREATE INDEX tool_call_by_tool ON portico.tool_call (space_id, server, tool, started_at);
CREATE INDEX tool_call_by_age ON portico.tool_call (space_id, started_at);
CREATE INDEX tool_call_by_principal ON portico.tool_call (space_id, principal_id, started_at);

-- For calls of months that have no table.
CREATE TABLE portico.tool_call_other PARTITION OF portico.tool_call DEFAULT;

-- Encrypted: what a tool gave is whatever its server knows, credentials among it. Encrypted bytes do
-- not get shorter by compressing them.
CREATE TABLE portico.tool_result (
    space_id        uuid        NOT NULL,
    result_id       uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    expires_at      timestamptz NOT NULL,
    level           smallint    NOT NULL DEFAULT 0 CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    untrusted       boolean     NOT NULL DEFAULT true,
    sealed          bytea       STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (space_id, result_id),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);
CREATE INDEX tool_result_by_age ON portico.tool_result (expires_at);

-- Which tools each principal has found and used. `calls` is what they counted for at `called_at`; each
-- counts half after a week.
CREATE TABLE portico.tool_usage (
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

SELECT pg_temp.protect('{server, tool, embedding, login_client}', pg_temp.in_space());
SELECT pg_temp.protect('{login, login_attempt, tool_usage}',
                       pg_temp.in_space(), pg_temp.callers_own());
SELECT pg_temp.protect('{tool_call, tool_call_other}', pg_temp.in_space(), pg_temp.cleared());
SELECT pg_temp.protect('{tool_result}',
                       pg_temp.in_space(), pg_temp.cleared(), pg_temp.callers_own());
SELECT pg_temp.open_to_engine('tool_call', 'tool_result');

GRANT SELECT, INSERT, DELETE,
      UPDATE (launch, launch_pin, enabled, approved_launch_pin, approved_launch, approved_by,
              approved_at, tools_accepted, set_pin, accepted_set_pin, instructions,
              accepted_instructions, offers, accepted_offers, identity, era, timeout_seconds,
              failure, listed_at, gone_at, profile, unboxed, label_level, label_compartments,
              clearance_level, clearance_compartments, trusted) ON portico.server TO portico_app;
GRANT SELECT, INSERT, DELETE ON portico.tool TO portico_app;
GRANT SELECT, INSERT ON portico.embedding TO portico_app;
GRANT SELECT, INSERT, DELETE, UPDATE (settings, sealed) ON portico.login_client TO portico_app;
GRANT SELECT, INSERT, DELETE, UPDATE (sealed, since) ON portico.login TO portico_app;
GRANT SELECT, INSERT, DELETE ON portico.login_attempt TO portico_app;
GRANT SELECT, INSERT, UPDATE (took, outcome, error, bytes_out) ON portico.tool_call
    TO portico_app;
GRANT SELECT, INSERT ON portico.tool_result TO portico_app;
GRANT SELECT, INSERT, UPDATE (found_for, found_at, calls, called_at) ON portico.tool_usage
    TO portico_app;
GRANT SELECT (space_id, call_id, started_at), DELETE ON portico.tool_call TO portico_engine;
GRANT SELECT (space_id, result_id, expires_at), DELETE ON portico.tool_result TO portico_engine;

-- With the owner's rights: a browser that returns from a login is not authenticated, and only the
-- state in its URL finds the attempt. It is found to be shown, and taken once.
CREATE FUNCTION portico.find_login_attempt(wanted bytea, at timestamptz)
    RETURNS TABLE (space_id uuid, principal_id uuid, server_id uuid, sealed bytea)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT a.space_id, a.principal_id, a.server_id, a.sealed
          FROM portico.login_attempt a
         WHERE a.digest = wanted AND a.expires_at > at
    $$;

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

REVOKE ALL ON FUNCTION portico.find_login_attempt, portico.take_login_attempt FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.find_login_attempt, portico.take_login_attempt TO portico_app;


-- ================================================================================================
-- Workflows: plans that were saved under a name
-- ================================================================================================

-- They are tools of Portico's own server `workflows`. A plan is kept as it was written, to the last
-- character, which jsonb would not do.
CREATE TABLE portico.saved_workflow (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    name            text        NOT NULL CHECK (name ~ '^[A-Za-z][A-Za-z0-9_-]{0,47}$'),
    plan            json        NOT NULL CHECK (json_typeof(plan) = 'object'),
    description     text        NOT NULL CHECK (length(description) <= 4000),
    effect          text        NOT NULL,
    saved_by        uuid        NOT NULL,
    saved_by_name   text        NOT NULL,
    saved_at        timestamptz NOT NULL,
    changed_at      timestamptz NOT NULL,
    PRIMARY KEY (space_id, name)
);
COMMENT ON COLUMN portico.saved_workflow.effect IS 'the worst of its steps when it was saved';

SELECT pg_temp.protect('{saved_workflow}', pg_temp.in_space());

GRANT SELECT, INSERT, DELETE,
      UPDATE (plan, description, effect, saved_by, saved_by_name, changed_at)
    ON portico.saved_workflow TO portico_app;


-- ================================================================================================
-- Learning: schemas of results, tool edges, predictions, past plans, suggestions
-- ================================================================================================

-- What results look like, of keys and types alone, and which of them became arguments of what. No
-- value is here. As with servers and tools, no policy looks at labels: what is said of a tool is said
-- together with it, and to those who may know of it.

-- Of the definition with this `pin`; another definition starts anew.
CREATE TABLE portico.inferred_schema (
    space_id        uuid        NOT NULL,
    server_id       uuid        NOT NULL,
    tool            text        NOT NULL CHECK (length(tool) > 0),
    pin             text        NOT NULL,
    seen            bigint      NOT NULL CHECK (seen >= 0),
    shape           json        NOT NULL,
    PRIMARY KEY (space_id, server_id, tool),
    FOREIGN KEY (space_id, server_id) REFERENCES portico.server ON DELETE CASCADE
);

CREATE TABLE portico.tool_flow (
    space_id            uuid        NOT NULL,
    producer_id         uuid        NOT NULL,
    producer_tool       text        NOT NULL CHECK (length(producer_tool) > 0),
    path                text        NOT NULL CHECK (length(path) <= 500),
    consumer_id         uuid        NOT NULL,
    consumer_tool       text        NOT NULL CHECK (length(consumer_tool) > 0),
    parameter           text        NOT NULL CHECK (length(parameter) BETWEEN 1 AND 200),
    times               bigint      NOT NULL CHECK (times > 0),
    PRIMARY KEY (space_id, consumer_id, consumer_tool, parameter, producer_id, producer_tool, path),
    FOREIGN KEY (space_id, producer_id) REFERENCES portico.server ON DELETE CASCADE,
    FOREIGN KEY (space_id, consumer_id) REFERENCES portico.server ON DELETE CASCADE
);
CREATE INDEX tool_flow_by_producer ON portico.tool_flow (space_id, producer_id);

-- Which tool came after which, and counts of what could be predicted. These are labelled, with all
-- that the context had read by then: that two public tools were used one after the other can be a
-- secret too.

-- `tasks`: in how many contexts it was seen.
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

-- `key` is JSON and can be longer than an index allows; `key_hash` is its SHA-256. `servers` are those
-- that it names.
CREATE TABLE portico.prediction_count (
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

-- Plans that went well, for an intent, and what was suggested to whom. A past plan serves everybody
-- who is cleared for it; its words are shown to its author alone.

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
CREATE INDEX past_plan_by_age ON portico.past_plan (space_id, principal_id, last_at);
COMMENT ON COLUMN portico.past_plan.intent IS 'with a kind in the place of each value in it';
COMMENT ON COLUMN portico.past_plan.steps IS
    'tools by the ids of their servers, and where each argument came from; nobody''s values';
COMMENT ON COLUMN portico.past_plan.vector IS
    'of the intent without its values: float32, little-endian';

-- `result_id` is its plan, encrypted and kept for an hour, for the caller alone.
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
CREATE INDEX suggestion_latest ON portico.suggestion (space_id, principal_id, made_at);
CREATE INDEX suggestion_by_run ON portico.suggestion (space_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX suggestion_by_age ON portico.suggestion (made_at);
COMMENT ON COLUMN portico.suggestion.raw IS 'how sure it was before that was calibrated';
COMMENT ON COLUMN portico.suggestion.backing IS 'as much of that as the runs behind it allowed';
COMMENT ON COLUMN portico.suggestion.past IS 'the past plans that it leans on';

SELECT pg_temp.protect('{inferred_schema, tool_flow}', pg_temp.in_space());
SELECT pg_temp.protect('{tool_edge, prediction_count, past_plan}',
                       pg_temp.in_space(), pg_temp.cleared());
SELECT pg_temp.protect('{suggestion}',
                       pg_temp.in_space(), pg_temp.cleared(), pg_temp.callers_own());
SELECT pg_temp.open_to_engine('tool_edge', 'prediction_count', 'past_plan', 'suggestion');

GRANT SELECT, INSERT, UPDATE (pin, seen, shape) ON portico.inferred_schema TO portico_app;
GRANT SELECT, INSERT, UPDATE (times) ON portico.tool_flow TO portico_app;
GRANT SELECT, INSERT, DELETE, UPDATE (times, tasks, last_seen_at) ON portico.tool_edge TO portico_app;
GRANT SELECT, INSERT, DELETE, UPDATE (tried, hit, last_seen_at) ON portico.prediction_count TO portico_app;
GRANT SELECT (space_id, last_seen_at), DELETE ON portico.tool_edge, portico.prediction_count
    TO portico_engine;
GRANT SELECT, INSERT, UPDATE (runs, accepted, rejected, modified, last_at) ON portico.past_plan
    TO portico_app;
GRANT SELECT, INSERT, UPDATE (run_id, outcome, settled_at) ON portico.suggestion TO portico_app;
GRANT SELECT (space_id, plan_id, principal_id, last_at), DELETE ON portico.past_plan TO portico_engine;
GRANT SELECT (space_id, suggestion_id, principal_id, made_at), DELETE ON portico.suggestion
    TO portico_engine;

-- With the owner's rights, whatever the label: a count can name several servers, and is deleted with
-- the first of them.
CREATE FUNCTION portico.uncount_servers()
    RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        BEGIN
            DELETE FROM portico.prediction_count AS c USING gone
             WHERE c.space_id = gone.space_id AND gone.server_id = ANY (c.servers);
            RETURN NULL;
        END
    $$;
REVOKE ALL ON FUNCTION portico.uncount_servers() FROM PUBLIC;
CREATE TRIGGER uncounted AFTER DELETE ON portico.server
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION portico.uncount_servers();


-- ================================================================================================
-- Agents: agents with every version, and traces of their runs
-- ================================================================================================

-- An agent has the label that its maker gave it; the rest is labelled with what the run has read.
-- Traces are append-only, except for the state and the outcome of a run.

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

-- Each version has its own label: an earlier one may be more secret than the agent is now.
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

-- The runs of a deleted agent stay, under the name that it had.
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
CREATE INDEX agent_run_newest ON portico.agent_run (space_id, started_at, run_id);
CREATE INDEX agent_run_by_agent ON portico.agent_run (space_id, agent_name, started_at, run_id);
CREATE INDEX agent_run_by_starter ON portico.agent_run (space_id, started_by, started_at, run_id);
CREATE INDEX agent_run_by_age ON portico.agent_run (started_at);
COMMENT ON COLUMN portico.agent_run.history IS
    'what was said before, by the account of whoever started it';
COMMENT ON COLUMN portico.agent_run.stop_at IS 'when somebody said that it is to stop';
COMMENT ON COLUMN portico.agent_run.money IS 'US dollars';
COMMENT ON COLUMN portico.agent_run.reported IS
    'whether every server said how many tokens it took; the rest is what was counted here';

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

CREATE TABLE portico.agent_input (
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

-- By word and by space: without the space, a search would take longer for a word that is common in
-- other spaces, and tell of it. Of a long text only the beginning is indexed.
CREATE INDEX agent_input_words ON portico.agent_input USING gin (
    (to_tsvector('simple', left(text, 100000)) || array_to_tsvector(ARRAY['~' || space_id::text])));
CREATE INDEX agent_turn_words ON portico.agent_turn USING gin (
    (to_tsvector('simple', left(text, 100000)) || array_to_tsvector(ARRAY['~' || space_id::text])));
CREATE INDEX agent_tool_use_words ON portico.agent_tool_use USING gin (
    (to_tsvector('simple', left(text, 100000)) || array_to_tsvector(ARRAY['~' || space_id::text])));

SELECT pg_temp.protect('{agent, agent_version, agent_run, agent_turn, agent_tool_use, agent_input}',
                       pg_temp.in_space(), pg_temp.cleared());
SELECT pg_temp.open_to_engine('agent_run');

GRANT SELECT, INSERT, DELETE, UPDATE (name, level, compartments, version, spec, changed_at)
    ON portico.agent TO portico_app;
GRANT SELECT, INSERT ON portico.agent_version TO portico_app;
GRANT SELECT, INSERT,
      UPDATE (status, level, compartments, ended_at, stop_at, turns, tool_uses, input_tokens,
              output_tokens, cached_tokens, reported, money, answer, error_code, error)
    ON portico.agent_run TO portico_app;
GRANT SELECT, INSERT ON portico.agent_turn, portico.agent_tool_use, portico.agent_input
    TO portico_app;
-- The engine deletes old runs, with everything in them.
GRANT SELECT (space_id, run_id, started_at), DELETE ON portico.agent_run TO portico_engine;

-- Runs with texts that have all of these prefixes. With the owner's rights, since under row-level
-- security no index is used for operators that are not leakproof; so it checks visibility itself.
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
            SELECT s.run_id FROM portico.agent_input s
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


-- ================================================================================================
-- Bridge: projects, conversations, messages, memory, attachments, leases, work items, presence
-- ================================================================================================

-- Visibility is checked twice: every statement asks for what its caller may see, and the policies of
-- every table show no more. What must be counted over all labels (positions, counters) is in columns
-- that the application has no right to, and is handed out by functions that count what their caller
-- may see.

-- Labels by number -------------------------------------------------------------------------------
-- Counters are arrays with an element for each label in use. These numbers stay in the database.

CREATE TABLE portico.bridge_label (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    number          smallint    NOT NULL CHECK (number >= 1),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL,
    PRIMARY KEY (space_id, number),
    UNIQUE (space_id, level, compartments)
);

-- Projects and conversations ---------------------------------------------------------------------

CREATE TABLE portico.project (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    project_id      uuid        NOT NULL,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    description     text        NOT NULL DEFAULT '',
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    made_by         uuid        NOT NULL,
    made_at         timestamptz NOT NULL,
    archived_at     timestamptz,
    token           bigint      NOT NULL DEFAULT 0,
    PRIMARY KEY (space_id, project_id)
);
-- Unique within a label: others cannot know of a project above their clearance.
CREATE UNIQUE INDEX project_name ON portico.project (space_id, name, level, compartments);
COMMENT ON COLUMN portico.project.token IS 'of the last lease that was given in it';

CREATE TABLE portico.conversation (
    space_id        uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    project_id      uuid        NOT NULL,
    title           text        NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    closed          boolean     NOT NULL DEFAULT false,
    made_by         uuid        NOT NULL,
    made_at         timestamptz NOT NULL,
    archived_at     timestamptz,
    last_seq        bigint      NOT NULL DEFAULT 0,
    said            bigint[]    NOT NULL DEFAULT '{}',
    newest          timestamptz[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (space_id, conversation_id),
    FOREIGN KEY (space_id, project_id) REFERENCES portico.project ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX conversation_of_project ON portico.conversation (space_id, project_id);
COMMENT ON COLUMN portico.conversation.closed IS 'for those who take part in it alone';
COMMENT ON COLUMN portico.conversation.said IS 'messages that are not deleted, by number of label';
COMMENT ON COLUMN portico.conversation.newest IS 'when the last one came, by number of label';

-- Messages ---------------------------------------------------------------------------------------

-- Lexemes have the space and the label as a prefix, so that a word which is rare among what a reader
-- may see is found at once, however common it is elsewhere.
CREATE FUNCTION portico.bridge_place(here uuid, its_label smallint)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN substr(md5(here::text || ' ' || its_label::text), 1, 6) || ':';

CREATE FUNCTION portico.bridge_words(its_text text, here uuid, its_label smallint)
    RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_to_tsvector(ARRAY(
        SELECT p.place || w.word
          FROM (SELECT portico.bridge_place(here, its_label) AS place) p,
               unnest(tsvector_to_array(to_tsvector('pg_catalog.simple'::regconfig, its_text))) AS w (word)
         WHERE octet_length(w.word) < 2000));

CREATE TABLE portico.message (
    space_id        uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    seq             bigint      NOT NULL,
    message_id      uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    label           smallint    NOT NULL,
    closed          boolean     NOT NULL,
    sender          uuid        NOT NULL,
    sender_name     text        NOT NULL,
    body            text        NOT NULL CHECK (length(body) <= 100000),
    reply_to        uuid,
    thread          uuid,
    mentions        uuid[]      NOT NULL DEFAULT '{}',
    addressed       uuid[]      NOT NULL DEFAULT '{}',
    owing           uuid[]      NOT NULL DEFAULT '{}',
    attachments     text[]      NOT NULL DEFAULT '{}',
    acknowledge     boolean     NOT NULL DEFAULT false,
    acknowledge_by  timestamptz,
    untrusted       boolean     NOT NULL DEFAULT false,
    copy_of         uuid,
    key             text,
    digest          bytea,
    sent_at         timestamptz NOT NULL,
    edited_at       timestamptz,
    deleted_at      timestamptz,
    words           tsvector    NOT NULL
                                GENERATED ALWAYS AS (portico.bridge_words(body, space_id, label)) STORED,
    PRIMARY KEY (space_id, conversation_id, seq),
    FOREIGN KEY (space_id, conversation_id) REFERENCES portico.conversation ON DELETE CASCADE
);
CREATE UNIQUE INDEX message_by_id ON portico.message (space_id, message_id);
-- Not unique: the sender may no longer see an earlier message with the same key.
CREATE INDEX message_by_key ON portico.message (space_id, sender, key) WHERE key IS NOT NULL;
-- By label: a reader does not go through messages that are hidden from them.
CREATE INDEX message_by_label ON portico.message (space_id, conversation_id, label, seq);
CREATE INDEX message_by_thread ON portico.message (space_id, thread, label, seq) WHERE thread IS NOT NULL;
CREATE INDEX message_newest ON portico.message (space_id, sent_at, message_id);
CREATE INDEX message_to_acknowledge ON portico.message (space_id, acknowledge_by)
    WHERE owing <> '{}' AND deleted_at IS NULL;
CREATE INDEX message_attachments ON portico.message USING gin (attachments) WHERE attachments <> '{}';
-- The newest messages are in a pending list, which is searched linearly: kept short, both searching and
-- inserting are quick.
CREATE INDEX message_words ON portico.message USING gin (words) WITH (gin_pending_list_limit = 256);
COMMENT ON COLUMN portico.message.digest IS 'of what was sent with the key';
COMMENT ON COLUMN portico.message.owing IS
    'those to whom it is addressed and who are to acknowledge it, and have not';

CREATE TABLE portico.message_version (
    space_id        uuid        NOT NULL,
    message_id      uuid        NOT NULL,
    number          integer     NOT NULL CHECK (number >= 1),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    body            text        NOT NULL,
    changed_by      uuid        NOT NULL,
    changed_at      timestamptz NOT NULL,
    PRIMARY KEY (space_id, message_id, number),
    FOREIGN KEY (space_id, message_id) REFERENCES portico.message (space_id, message_id) ON DELETE CASCADE
);

CREATE TABLE portico.message_ack (
    space_id        uuid        NOT NULL,
    message_id      uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    at              timestamptz NOT NULL,
    PRIMARY KEY (space_id, message_id, principal_id),
    FOREIGN KEY (space_id, message_id) REFERENCES portico.message (space_id, message_id) ON DELETE CASCADE,
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

-- Embeddings of messages. A label with many messages gets an HNSW index of its own: in one index over
-- all labels, hidden messages would change the result.
CREATE TABLE portico.message_vector (
    space_id        uuid        NOT NULL,
    message_id      uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    label           smallint    NOT NULL,
    closed          boolean     NOT NULL,
    model           text        NOT NULL CHECK (length(model) BETWEEN 1 AND 100),
    embedding       public.halfvec,
    stale           boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (space_id, message_id),
    FOREIGN KEY (space_id, message_id) REFERENCES portico.message (space_id, message_id) ON DELETE CASCADE
);
CREATE INDEX message_vector_by_label ON portico.message_vector (space_id, label, model) WHERE NOT closed;
CREATE INDEX message_vector_by_conversation ON portico.message_vector (space_id, conversation_id);
CREATE INDEX message_vector_stale ON portico.message_vector (space_id) WHERE stale;
COMMENT ON COLUMN portico.message_vector.embedding IS 'none, of one without a word';
COMMENT ON COLUMN portico.message_vector.stale IS 'it says something else by now';

CREATE TABLE portico.embedding_progress (
    space_id        uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    model           text        NOT NULL,
    seq             bigint      NOT NULL,
    PRIMARY KEY (space_id, conversation_id),
    FOREIGN KEY (space_id, conversation_id) REFERENCES portico.conversation ON DELETE CASCADE
);
COMMENT ON TABLE portico.embedding_progress IS 'every message up to there has its vector by this model';

-- Participants, and how far each has read --------------------------------------------------------

CREATE TABLE portico.participant (
    space_id        uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    joined_at       timestamptz NOT NULL,
    muted           boolean     NOT NULL DEFAULT false,
    last_seq        bigint      NOT NULL,
    seen            bigint[]    NOT NULL,
    apart           bigint[]    NOT NULL DEFAULT '{}',
    PRIMARY KEY (space_id, principal_id, conversation_id),
    FOREIGN KEY (space_id, conversation_id) REFERENCES portico.conversation ON DELETE CASCADE,
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX participant_of_conversation ON portico.participant (space_id, conversation_id);
COMMENT ON COLUMN portico.participant.seen IS
    'messages up to last_seq that are not deleted, by number of label';
COMMENT ON COLUMN portico.participant.apart IS
    'messages after last_seq that are not deleted and count as read: their own, and read_message; by number of label';

-- Messages read although an earlier one is unread. A sender's own have no row.
CREATE TABLE portico.read_message (
    space_id        uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    seq             bigint      NOT NULL,
    label           smallint    NOT NULL,
    PRIMARY KEY (space_id, principal_id, conversation_id, seq),
    FOREIGN KEY (space_id, principal_id, conversation_id) REFERENCES portico.participant ON DELETE CASCADE
);
CREATE INDEX read_message_by_message ON portico.read_message (space_id, conversation_id, seq);

-- Participants whom an unread message mentions or addresses.
CREATE TABLE portico.mention (
    space_id        uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    seq             bigint      NOT NULL,
    label           smallint    NOT NULL,
    PRIMARY KEY (space_id, principal_id, conversation_id, seq),
    FOREIGN KEY (space_id, principal_id, conversation_id) REFERENCES portico.participant ON DELETE CASCADE
);
CREATE INDEX mention_by_message ON portico.mention (space_id, conversation_id, seq);

-- Memory, attachments, leases, work items, presence ----------------------------------------------

CREATE TABLE portico.memory (
    space_id        uuid        NOT NULL,
    project_id      uuid        NOT NULL,
    key             text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    version         integer     NOT NULL CHECK (version >= 1),
    value           json,
    untrusted       boolean     NOT NULL DEFAULT false,
    forgotten       boolean     NOT NULL DEFAULT false,
    expires_at      timestamptz,
    written_by      uuid        NOT NULL,
    written_at      timestamptz NOT NULL,
    PRIMARY KEY (space_id, project_id, key, level, compartments, version),
    FOREIGN KEY (space_id, project_id) REFERENCES portico.project ON DELETE CASCADE
);
-- A key such as build/target.linux is several words.
CREATE INDEX memory_words ON portico.memory USING gin (
    (to_tsvector('simple', translate(key, '/._:-', '     '))
     || coalesce(json_to_tsvector('simple', value, '["all"]'), '')
     || array_to_tsvector(ARRAY['~' || space_id::text, '~' || project_id::text])));
CREATE INDEX memory_by_age ON portico.memory (written_at);
COMMENT ON TABLE portico.memory IS
    'every version of every key; the last one of a key and label is what is remembered';

CREATE TABLE portico.attachment (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    digest          text        NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    untrusted       boolean     NOT NULL DEFAULT false,
    media_type      text        NOT NULL CHECK (length(media_type) BETWEEN 1 AND 200),
    content         bytea       STORAGE EXTERNAL NOT NULL CHECK (length(content) <= 25000000),
    added_by        uuid        NOT NULL,
    added_at        timestamptz NOT NULL,
    PRIMARY KEY (space_id, digest, level, compartments)
);

CREATE TABLE portico.lease (
    space_id        uuid        NOT NULL,
    lease_id        uuid        NOT NULL,
    project_id      uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    resource        text        NOT NULL CHECK (length(resource) BETWEEN 1 AND 300),
    purpose         text        NOT NULL DEFAULT '',
    principal_id    uuid        NOT NULL,
    token           bigint,
    since           timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    PRIMARY KEY (space_id, lease_id),
    FOREIGN KEY (space_id, project_id) REFERENCES portico.project ON DELETE CASCADE,
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);
CREATE INDEX lease_of_project ON portico.lease (space_id, project_id, expires_at);
COMMENT ON COLUMN portico.lease.token IS 'NULL of somebody who waits for it';

CREATE TABLE portico.work_item (
    space_id        uuid        NOT NULL,
    work_item_id    uuid        NOT NULL,
    project_id      uuid        NOT NULL,
    title           text        NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
    body            text        NOT NULL DEFAULT '',
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    state           text        NOT NULL CHECK (state IN ('open', 'claimed', 'done', 'dropped')),
    depends         uuid[]      NOT NULL DEFAULT '{}',
    claimed_by      uuid,
    token           bigint      NOT NULL DEFAULT 0,
    outcome         text        NOT NULL DEFAULT '',
    untrusted       boolean     NOT NULL DEFAULT false,
    key             text,
    made_by         uuid        NOT NULL,
    made_at         timestamptz NOT NULL,
    changed_at      timestamptz NOT NULL,
    PRIMARY KEY (space_id, work_item_id),
    FOREIGN KEY (space_id, project_id) REFERENCES portico.project ON DELETE CASCADE,
    FOREIGN KEY (space_id, claimed_by) REFERENCES portico.principal ON DELETE SET NULL (claimed_by)
);
-- Unique within a label: a hidden work item must not be noticed by its key.
CREATE UNIQUE INDEX work_item_key ON portico.work_item (space_id, made_by, key, level, compartments)
    WHERE key IS NOT NULL;
CREATE INDEX work_item_of_project ON portico.work_item (space_id, project_id, work_item_id);

CREATE TABLE portico.presence (
    space_id        uuid        NOT NULL,
    project_id      uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    doing           text        NOT NULL CHECK (doing IN ('there', 'busy', 'away')),
    note            text        NOT NULL DEFAULT '' CHECK (length(note) <= 200),
    until           timestamptz NOT NULL,
    PRIMARY KEY (space_id, project_id, principal_id),
    FOREIGN KEY (space_id, project_id) REFERENCES portico.project ON DELETE CASCADE,
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

CREATE TABLE portico.declassification (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    record_id       uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    source_id       uuid        NOT NULL,
    copy_id         uuid        NOT NULL,
    after_level     smallint    NOT NULL CHECK (after_level BETWEEN 0 AND 3),
    after_compartments text[]   NOT NULL DEFAULT '{}',
    rules           text[]      NOT NULL DEFAULT '{}',
    asked_by        uuid        NOT NULL,
    approved_by     uuid        NOT NULL,
    approval_id     uuid        NOT NULL,
    at              timestamptz NOT NULL,
    digest          text        NOT NULL,
    signature       text        NOT NULL,
    PRIMARY KEY (space_id, record_id),
    UNIQUE (space_id, approval_id),
    UNIQUE (space_id, copy_id)
);
CREATE INDEX declassification_of ON portico.declassification (space_id, source_id);
COMMENT ON TABLE portico.declassification IS 'as secret as what it was made of; never changed';

-- Policies ---------------------------------------------------------------------------------------

-- With the owner's rights, since policies of tables that query each other would recurse.
CREATE FUNCTION portico.own_conversations()
    RETURNS uuid[]
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT coalesce(array_agg(p.conversation_id), '{}') FROM portico.participant p
         WHERE p.space_id = nullif(current_setting('portico.space', true), '')::uuid
           AND p.principal_id = nullif(current_setting('portico.principal', true), '')::uuid
    $$;
REVOKE ALL ON FUNCTION portico.own_conversations() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.own_conversations() TO portico_app;

-- Only participants see a closed conversation. Participants are visible with their conversation,
-- versions and acknowledgements with their message; how far somebody has read is in columns that
-- nobody is granted.
SELECT pg_temp.protect('{bridge_label, project, memory, attachment, lease, work_item, presence,
                         declassification}', pg_temp.in_space(), pg_temp.cleared());
SELECT pg_temp.protect('{conversation, message, message_vector}', pg_temp.in_space(), pg_temp.cleared(),
    'CASE WHEN closed THEN conversation_id = ANY ((SELECT portico.own_conversations())::uuid[]) ELSE true END');
SELECT pg_temp.protect('{message_version, message_ack}', pg_temp.in_space(), pg_temp.cleared(),
    'EXISTS (SELECT FROM portico.message m WHERE m.space_id = %1$I.space_id'
    ' AND m.message_id = %1$I.message_id)');
SELECT pg_temp.protect('{participant, embedding_progress}', pg_temp.in_space(),
    'EXISTS (SELECT FROM portico.conversation c WHERE c.space_id = %1$I.space_id'
    ' AND c.conversation_id = %1$I.conversation_id)');
SELECT pg_temp.protect('{read_message, mention}', pg_temp.in_space(), pg_temp.callers_own(),
    'label = ANY (ARRAY(SELECT l.number FROM portico.bridge_label l))');
SELECT pg_temp.forbid_write_down(new => '{project, memory, attachment, lease, work_item, presence}',
                                 changed => '{project, conversation}');
-- A change of a lease, a work item or a presence also tells others something.
CREATE POLICY no_write_down_later ON portico.lease AS RESTRICTIVE FOR UPDATE TO portico_app
    WITH CHECK (portico.mark_covered(level, compartments));
CREATE POLICY no_write_down_later ON portico.work_item AS RESTRICTIVE FOR UPDATE TO portico_app
    WITH CHECK (portico.mark_covered(level, compartments));
CREATE POLICY no_write_down_later ON portico.presence AS RESTRICTIVE FOR UPDATE TO portico_app
    WITH CHECK (portico.mark_covered(level, compartments));
CREATE POLICY no_write_down_last ON portico.lease AS RESTRICTIVE FOR DELETE TO portico_app
    USING (portico.mark_covered(level, compartments));

GRANT SELECT (space_id, project_id, name, description, level, compartments, made_by, made_at, archived_at),
      INSERT (space_id, project_id, name, description, level, compartments, made_by, made_at, archived_at),
      UPDATE (name, description, archived_at) ON portico.project TO portico_app;
GRANT SELECT (space_id, conversation_id, project_id, title, level, compartments, closed, made_by, made_at, archived_at),
      UPDATE (title, archived_at) ON portico.conversation TO portico_app;
GRANT SELECT (space_id, conversation_id, seq, message_id, level, compartments, closed, sender, sender_name,
              body, reply_to, thread, mentions, addressed, owing, attachments, acknowledge, acknowledge_by,
              untrusted, copy_of, sent_at, edited_at, deleted_at) ON portico.message TO portico_app;
GRANT SELECT (space_id, number, level, compartments) ON portico.bridge_label TO portico_app;
GRANT SELECT ON portico.message_version, portico.message_ack, portico.declassification TO portico_app;
GRANT SELECT (space_id) ON portico.message_vector, portico.embedding_progress, portico.read_message,
    portico.mention TO portico_app;
GRANT SELECT (space_id, conversation_id, principal_id, joined_at, muted), UPDATE (muted), DELETE
    ON portico.participant TO portico_app;
GRANT SELECT, INSERT ON portico.memory, portico.attachment TO portico_app;
GRANT SELECT, INSERT, DELETE, UPDATE (expires_at, token) ON portico.lease TO portico_app;
GRANT SELECT, INSERT, UPDATE (state, claimed_by, token, outcome, untrusted, changed_at)
    ON portico.work_item TO portico_app;
GRANT SELECT, INSERT, DELETE, UPDATE (doing, note, until) ON portico.presence TO portico_app;

-- Functions over all labels ----------------------------------------------------------------------
-- With the owner's rights, so each checks visibility twice itself: by what the application says that
-- its caller may see (clear_...), and by the settings of the transaction (bridge_sees,
-- own_conversations).

CREATE FUNCTION portico.bridge_sees(its_level smallint, its_compartments text[])
    RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
        SELECT its_level <= coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint
           AND its_compartments <@ string_to_array(coalesce(current_setting('portico.compartments', true), ''), ',')
    $$;

-- Whether the caller is a participant: the application's check, which reads the table itself.
CREATE FUNCTION portico.bridge_takes_part(its_conversation uuid)
    RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT EXISTS (
            SELECT FROM portico.participant t
             WHERE t.space_id = nullif(current_setting('portico.space', true), '')::uuid
               AND t.principal_id = nullif(current_setting('portico.principal', true), '')::uuid
               AND t.conversation_id = its_conversation)
    $$;
REVOKE ALL ON FUNCTION portico.bridge_takes_part(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.bridge_takes_part(uuid) TO portico_app;

-- NULL if the space has as many labels as it can have: each counter has an element for each.
CREATE FUNCTION portico.bridge_label_number(here uuid, its_level smallint, its_compartments text[])
    RETURNS smallint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            sorted text[] := ARRAY(SELECT DISTINCT unnest(its_compartments) ORDER BY 1);
            found_number smallint;
        BEGIN
            SELECT number INTO found_number FROM portico.bridge_label
             WHERE space_id = here AND level = its_level AND compartments = sorted;
            IF found_number IS NULL THEN
                PERFORM pg_advisory_xact_lock(hashtextextended('portico label ' || here::text, 0));
                INSERT INTO portico.bridge_label (space_id, number, level, compartments)
                SELECT here, coalesce(max(number), 0) + 1, its_level, sorted
                  FROM portico.bridge_label WHERE space_id = here
                HAVING coalesce(max(number), 0) < 8192
                ON CONFLICT DO NOTHING;
                SELECT number INTO found_number FROM portico.bridge_label
                 WHERE space_id = here AND level = its_level AND compartments = sorted;
            END IF;
            RETURN found_number;
        END
    $$;
REVOKE ALL ON FUNCTION portico.bridge_label_number(uuid, smallint, text[]) FROM PUBLIC;

-- Creates a conversation with its maker as participant.
CREATE FUNCTION portico.bridge_open(
    its_id uuid, its_project uuid, its_title text, its_level smallint, its_compartments text[],
    its_closed boolean, at timestamptz, clear_level smallint, clear_compartments text[]
)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            inside record;
        BEGIN
            SELECT p.level, p.compartments INTO inside FROM portico.project p
             WHERE p.space_id = here AND p.project_id = its_project
               AND p.level <= clear_level AND p.compartments <@ clear_compartments
               AND portico.bridge_sees(p.level, p.compartments) FOR KEY SHARE;
            IF NOT FOUND THEN
                RETURN 'not_found';
            END IF;
            IF NOT (its_level <= clear_level AND its_compartments <@ clear_compartments
                    AND portico.bridge_sees(its_level, its_compartments)
                    AND inside.level <= its_level AND inside.compartments <@ its_compartments) THEN
                RAISE insufficient_privilege
                    USING MESSAGE = 'more secret than its maker may see, or less than its project';
            END IF;
            IF NOT portico.mark_covered(its_level, its_compartments) THEN
                RETURN 'write_down';
            END IF;
            INSERT INTO portico.conversation (
                space_id, conversation_id, project_id, title, level, compartments, closed, made_by, made_at)
            VALUES (here, its_id, its_project, its_title, its_level, its_compartments, its_closed, me, at);
            INSERT INTO portico.participant (
                space_id, conversation_id, principal_id, joined_at, last_seq, seen)
            VALUES (here, its_id, me, at, 0, '{}');
            RETURN 'done';
        END
    $$;

-- Appends a message under the lock of its conversation: sequence numbers have no gaps, and whoever has
-- read one has missed none before it. Sending to an open conversation joins it. Without a level the
-- message gets the label of its conversation, raised to what its context has read.
CREATE FUNCTION portico.bridge_send(
    wanted uuid, its_id uuid, its_level smallint, its_compartments text[], its_body text,
    its_sender_name text, its_reply_to uuid, its_mentions uuid[], its_addressed uuid[],
    its_attachments text[], its_acknowledge boolean, its_acknowledge_by timestamptz,
    its_untrusted boolean, its_copy_of uuid, its_key text, its_digest bytea, at timestamptz,
    task_opened boolean, clear_level smallint, clear_compartments text[], clear_closed boolean,
    OUT outcome text, OUT place bigint, OUT message_id uuid, OUT thread uuid, OUT level smallint,
    OUT compartments text[], OUT inside_level smallint, OUT inside_compartments text[],
    OUT untrusted boolean
)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        #variable_conflict use_column
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            task uuid := nullif(current_setting('portico.context', true), '')::uuid;
            its_label smallint;
            kept_up boolean;
            before record;
            answered record;
            into_ record;
        BEGIN
            SELECT c.level, c.compartments, c.closed, c.archived_at, p.archived_at AS put_away,
                   t.principal_id AS task_of, t.closed_at AS task_closed,
                   coalesce(t.level, 0::smallint) AS mark, coalesce(t.compartments, '{}') AS marks,
                   coalesce(t.untrusted, false) AS tainted
              INTO into_
              FROM portico.conversation c
              JOIN portico.project p ON p.space_id = here AND p.project_id = c.project_id
              LEFT JOIN portico.taint_context t ON t.space_id = here AND t.context_id = task
             WHERE c.space_id = here AND c.conversation_id = wanted
               AND c.level <= clear_level AND c.compartments <@ clear_compartments
               AND portico.bridge_sees(c.level, c.compartments)
               AND (NOT c.closed OR (clear_closed OR portico.bridge_takes_part(wanted))
                                AND wanted = ANY (portico.own_conversations()));
            IF NOT FOUND THEN
                outcome := 'not_found'; RETURN;
            END IF;
            IF task IS NULL OR into_.task_closed IS NOT NULL OR into_.task_of <> me
               OR (task_opened AND into_.task_of IS NULL) THEN
                outcome := 'no_task'; RETURN;
            END IF;
            inside_level := into_.level;
            inside_compartments := into_.compartments;
            -- First of all: what was sent is not sent again, whatever its task has read since.
            IF its_key IS NOT NULL THEN
                PERFORM pg_advisory_xact_lock(hashtextextended(concat('portico key ', here, me, its_key), 0));
                PERFORM FROM portico.message m
                  WHERE m.space_id = here AND m.sender = me AND m.key = its_key;
                IF FOUND THEN
                    SELECT m.seq, m.message_id, m.digest = its_digest AS alike INTO before
                      FROM portico.message m
                     WHERE m.space_id = here AND m.sender = me AND m.key = its_key
                       AND m.level <= clear_level AND m.compartments <@ clear_compartments
                       AND portico.bridge_sees(m.level, m.compartments)
                       AND (NOT m.closed OR (clear_closed OR portico.bridge_takes_part(m.conversation_id))
                                        AND m.conversation_id = ANY (portico.own_conversations()))
                     ORDER BY m.digest = its_digest DESC, m.sent_at LIMIT 1;
                END IF;
                IF FOUND THEN
                    outcome := CASE WHEN before.alike THEN 'replayed' ELSE 'reused' END;
                    place := before.seq;
                    message_id := before.message_id;
                    RETURN;
                END IF;
            END IF;
            level := coalesce(its_level, greatest(into_.level, into_.mark));
            IF its_level IS NOT NULL THEN
                compartments := its_compartments;
            ELSIF into_.marks <@ into_.compartments THEN
                compartments := into_.compartments;
            ELSE
                compartments := ARRAY(SELECT DISTINCT unnest(into_.compartments || into_.marks) ORDER BY 1);
            END IF;
            untrusted := its_untrusted OR into_.tainted;
            IF NOT (into_.level <= level AND into_.compartments <@ compartments) THEN
                outcome := 'below'; RETURN;
            END IF;
            IF NOT (into_.mark <= level AND into_.marks <@ compartments) THEN
                outcome := 'write_down'; RETURN;
            END IF;
            IF NOT (level <= clear_level AND compartments <@ clear_compartments
                    AND portico.bridge_sees(level, compartments)) THEN
                outcome := 'above'; RETURN;
            END IF;
            IF its_reply_to IS NOT NULL THEN
                SELECT coalesce(m.thread, m.message_id) AS thread, m.level, m.compartments
                  INTO answered FROM portico.message m
                 WHERE m.space_id = here AND m.message_id = its_reply_to AND m.conversation_id = wanted
                   AND m.level <= clear_level AND m.compartments <@ clear_compartments
                   AND portico.bridge_sees(m.level, m.compartments);
                IF NOT FOUND THEN
                    outcome := 'no_reply'; RETURN;
                END IF;
                IF NOT (answered.level <= level AND answered.compartments <@ compartments) THEN
                    outcome := 'below_reply'; RETURN;
                END IF;
                thread := answered.thread;
            END IF;
            IF coalesce(into_.archived_at, into_.put_away) IS NOT NULL THEN
                outcome := 'archived'; RETURN;
            END IF;
            SELECT l.number INTO its_label FROM portico.bridge_label l
             WHERE l.space_id = here AND l.level = bridge_send.level
               AND l.compartments = bridge_send.compartments;
            IF NOT FOUND THEN
                its_label := portico.bridge_label_number(here, level, compartments);
                IF its_label IS NULL THEN
                    outcome := 'no_label'; RETURN;
                END IF;
            END IF;
            UPDATE portico.conversation c
               SET last_seq = c.last_seq + 1,
                   said[its_label] = coalesce(c.said[its_label], 0) + 1,
                   newest[its_label] = greatest(c.newest[its_label], at)
             WHERE c.space_id = here AND c.conversation_id = wanted AND c.archived_at IS NULL
            RETURNING c.last_seq INTO place;
            IF NOT FOUND THEN
                outcome := 'archived'; RETURN;
            END IF;
            INSERT INTO portico.message (
                space_id, conversation_id, seq, message_id, level, compartments, label, closed, sender,
                sender_name, body, reply_to, thread, mentions, addressed, owing, attachments,
                acknowledge, acknowledge_by, untrusted, copy_of, key, digest, sent_at)
            VALUES (
                here, wanted, place, its_id, level, compartments, its_label, into_.closed,
                me, its_sender_name, its_body, its_reply_to, thread, its_mentions, its_addressed,
                CASE WHEN its_acknowledge THEN its_addressed ELSE '{}' END, its_attachments,
                its_acknowledge, its_acknowledge_by, untrusted, its_copy_of, its_key, its_digest, at);
            -- What one says is read, also where something before it is not.
            UPDATE portico.participant t
               SET last_seq = t.last_seq + (t.last_seq = place - 1)::integer,
                   seen[its_label] = coalesce(t.seen[its_label], 0) + (t.last_seq = place - 1)::integer,
                   apart[its_label] = coalesce(t.apart[its_label], 0) + (t.last_seq <> place - 1)::integer
             WHERE t.space_id = here AND t.principal_id = me AND t.conversation_id = wanted
            RETURNING t.last_seq = place INTO kept_up;
            -- That somebody takes part is there for whoever sees the conversation: by something that
            -- is more secret nobody is seen to come.
            IF kept_up IS NULL AND level = into_.level AND compartments <@ into_.compartments THEN
                INSERT INTO portico.participant (
                    space_id, conversation_id, principal_id, joined_at, last_seq, seen)
                SELECT here, wanted, me, at, c.last_seq, c.said FROM portico.conversation c
                 WHERE c.space_id = here AND c.conversation_id = wanted;
            END IF;
            IF cardinality(its_mentions) + cardinality(its_addressed) > 0 THEN
                INSERT INTO portico.mention (space_id, principal_id, conversation_id, seq, label)
                SELECT here, t.principal_id, wanted, bridge_send.place, its_label FROM portico.participant t
                 WHERE t.space_id = here AND t.conversation_id = wanted AND t.principal_id <> me
                   AND t.principal_id = ANY (its_mentions || its_addressed)
                   FOR KEY SHARE OF t;
            END IF;
            message_id := its_id;
            outcome := 'sent';
        END
    $$;

-- Edits or deletes a message and stores the version before. The label can only rise; readers who have
-- passed the message are not notified, and those no longer cleared do not find it.
CREATE FUNCTION portico.bridge_change(
    its_id uuid, its_body text, to_level smallint, to_compartments text[], its_untrusted boolean,
    gone boolean, others boolean, at timestamptz,
    clear_level smallint, clear_compartments text[], clear_closed boolean
)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            was record;
            to_label smallint;
        BEGIN
            -- Against those who are counting how far they have read, too.
            PERFORM FROM portico.conversation c
              WHERE c.space_id = here AND c.conversation_id = (
                    SELECT m.conversation_id FROM portico.message m
                     WHERE m.space_id = here AND m.message_id = its_id
                       AND m.level <= clear_level AND m.compartments <@ clear_compartments
                       AND portico.bridge_sees(m.level, m.compartments))
                AND c.level <= clear_level AND c.compartments <@ clear_compartments
                AND portico.bridge_sees(c.level, c.compartments)
                AND (NOT c.closed OR (clear_closed OR portico.bridge_takes_part(c.conversation_id))
                                 AND c.conversation_id = ANY (portico.own_conversations()))
                FOR UPDATE;
            SELECT m.conversation_id, m.seq, m.sender, m.level, m.compartments, m.label, m.body, m.deleted_at
              INTO was FROM portico.message m
             WHERE FOUND AND m.space_id = here AND m.message_id = its_id
               AND m.level <= clear_level AND m.compartments <@ clear_compartments
               AND portico.bridge_sees(m.level, m.compartments) FOR UPDATE;
            IF NOT FOUND THEN
                RETURN 'not_found';
            END IF;
            IF was.sender <> me AND NOT (gone AND others) THEN
                RETURN 'not_theirs';
            END IF;
            IF was.deleted_at IS NOT NULL THEN
                RETURN CASE WHEN gone THEN 'done' ELSE 'not_found' END;
            END IF;
            IF gone THEN
                to_level := was.level;
                to_compartments := was.compartments;
            END IF;
            IF NOT (was.level <= to_level AND was.compartments <@ to_compartments) THEN
                RETURN 'sinks';
            END IF;
            IF NOT (to_level <= clear_level AND to_compartments <@ clear_compartments
                    AND portico.bridge_sees(to_level, to_compartments)) THEN
                RAISE insufficient_privilege USING MESSAGE = 'more secret than the caller may see';
            END IF;
            IF NOT portico.mark_covered(to_level, to_compartments) THEN
                RETURN 'write_down';
            END IF;
            to_label := portico.bridge_label_number(here, to_level, to_compartments);
            IF to_label IS NULL THEN
                RETURN 'no_label';
            END IF;
            INSERT INTO portico.message_version (
                space_id, message_id, number, level, compartments, body, changed_by, changed_at)
            SELECT here, its_id, 1 + count(*), was.level, was.compartments, was.body, me, at
              FROM portico.message_version v WHERE v.space_id = here AND v.message_id = its_id;
            UPDATE portico.message m
               SET body = CASE WHEN gone THEN '' ELSE its_body END,
                   untrusted = m.untrusted OR its_untrusted,
                   edited_at = CASE WHEN gone THEN m.edited_at ELSE at END,
                   deleted_at = CASE WHEN gone THEN at END,
                   attachments = CASE WHEN gone THEN '{}' ELSE m.attachments END,
                   level = to_level, compartments = to_compartments, label = to_label
             WHERE m.space_id = here AND m.message_id = its_id;
            IF gone OR to_label <> was.label THEN
                UPDATE portico.conversation c SET said[was.label] = c.said[was.label] - 1
                 WHERE c.space_id = here AND c.conversation_id = was.conversation_id;
                UPDATE portico.participant t SET seen[was.label] = t.seen[was.label] - 1
                 WHERE t.space_id = here AND t.conversation_id = was.conversation_id
                   AND t.last_seq >= was.seq;
            END IF;
            IF gone THEN
                WITH gone AS (
                    DELETE FROM portico.read_message r WHERE r.space_id = here
                       AND r.conversation_id = was.conversation_id AND r.seq = was.seq
                    RETURNING r.principal_id
                )
                UPDATE portico.participant t SET apart[was.label] = t.apart[was.label] - 1
                  FROM (SELECT g.principal_id FROM gone g UNION ALL SELECT was.sender) g
                 WHERE t.space_id = here AND t.conversation_id = was.conversation_id
                   AND t.principal_id = g.principal_id AND t.last_seq < was.seq;
                DELETE FROM portico.mention n WHERE n.space_id = here
                   AND n.conversation_id = was.conversation_id AND n.seq = was.seq;
                DELETE FROM portico.message_vector v WHERE v.space_id = here AND v.message_id = its_id;
                RETURN 'done';
            END IF;
            UPDATE portico.message_vector v
               SET embedding = NULL, stale = true, level = to_level, compartments = to_compartments,
                   label = to_label
             WHERE v.space_id = here AND v.message_id = its_id;
            IF to_label <> was.label THEN
                UPDATE portico.conversation c
                   SET said[to_label] = coalesce(c.said[to_label], 0) + 1,
                       newest[to_label] = greatest(c.newest[to_label], at)
                 WHERE c.space_id = here AND c.conversation_id = was.conversation_id;
                UPDATE portico.participant t SET seen[to_label] = coalesce(t.seen[to_label], 0) + 1
                 WHERE t.space_id = here AND t.conversation_id = was.conversation_id
                   AND t.last_seq >= was.seq;
                WITH moved AS (
                    UPDATE portico.read_message r SET label = to_label WHERE r.space_id = here
                       AND r.conversation_id = was.conversation_id AND r.seq = was.seq
                    RETURNING r.principal_id
                )
                UPDATE portico.participant t
                   SET apart[was.label] = t.apart[was.label] - 1,
                       apart[to_label] = coalesce(t.apart[to_label], 0) + 1
                  FROM (SELECT g.principal_id FROM moved g UNION ALL SELECT was.sender) g
                 WHERE t.space_id = here AND t.conversation_id = was.conversation_id
                   AND t.principal_id = g.principal_id AND t.last_seq < was.seq;
                UPDATE portico.mention n SET label = to_label WHERE n.space_id = here
                   AND n.conversation_id = was.conversation_id AND n.seq = was.seq;
                UPDATE portico.message_ack a SET level = to_level, compartments = to_compartments
                 WHERE a.space_id = here AND a.message_id = its_id;
            END IF;
            RETURN 'done';
        END
    $$;

-- Acknowledges a message once, with the label of the message.
CREATE FUNCTION portico.bridge_acknowledge(
    its_id uuid, at timestamptz, clear_level smallint, clear_compartments text[], clear_closed boolean
)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            its record;
        BEGIN
            SELECT m.level, m.compartments INTO its
              FROM portico.message m JOIN portico.conversation c USING (space_id, conversation_id)
             WHERE m.space_id = here AND m.message_id = its_id
               AND m.level <= clear_level AND m.compartments <@ clear_compartments
               AND portico.bridge_sees(m.level, m.compartments)
               AND c.level <= clear_level AND c.compartments <@ clear_compartments
               AND portico.bridge_sees(c.level, c.compartments)
               AND (NOT m.closed OR (clear_closed OR portico.bridge_takes_part(m.conversation_id))
                                AND m.conversation_id = ANY (portico.own_conversations()))
               FOR NO KEY UPDATE OF m;
            IF NOT FOUND THEN
                RETURN 'not_found';
            END IF;
            IF NOT portico.mark_covered(its.level, its.compartments) THEN
                RETURN 'write_down';
            END IF;
            INSERT INTO portico.message_ack (space_id, message_id, principal_id, level, compartments, at)
            VALUES (here, its_id, me, its.level, its.compartments, at) ON CONFLICT DO NOTHING;
            UPDATE portico.message m SET owing = array_remove(m.owing, me)
             WHERE m.space_id = here AND m.message_id = its_id AND me = ANY (m.owing);
            RETURN 'done';
        END
    $$;

-- Joins a conversation from now on: earlier messages count as read.
CREATE FUNCTION portico.bridge_join(
    wanted uuid, who uuid, at timestamptz,
    clear_level smallint, clear_compartments text[], clear_closed boolean
)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            its record;
        BEGIN
            SELECT c.level, c.compartments INTO its FROM portico.conversation c
             WHERE c.space_id = here AND c.conversation_id = wanted
               AND c.level <= clear_level AND c.compartments <@ clear_compartments
               AND portico.bridge_sees(c.level, c.compartments)
               AND (NOT c.closed OR (clear_closed OR portico.bridge_takes_part(wanted))
                                AND wanted = ANY (portico.own_conversations()))
               FOR NO KEY UPDATE;
            IF NOT FOUND THEN
                RETURN 'not_found';
            END IF;
            IF NOT portico.mark_covered(its.level, its.compartments) THEN
                RETURN 'write_down';
            END IF;
            PERFORM FROM portico.principal p
              WHERE p.space_id = here AND p.principal_id = who FOR KEY SHARE;
            IF NOT FOUND THEN
                RETURN 'nobody';
            END IF;
            INSERT INTO portico.participant (
                space_id, conversation_id, principal_id, joined_at, last_seq, seen)
            SELECT here, wanted, who, at, c.last_seq, c.said FROM portico.conversation c
             WHERE c.space_id = here AND c.conversation_id = wanted
            ON CONFLICT DO NOTHING;
            RETURN 'done';
        END
    $$;

-- Moves the caller's read position forward, never back. All messages in between count, whatever their
-- label: the position is past them too if the caller is cleared for them one day. `partly`: only
-- messages that the caller wants to see, so that the position passes nothing unseen.
CREATE FUNCTION portico.bridge_read_to(
    wanted uuid, place bigint, partly boolean,
    clear_level smallint, clear_compartments text[], clear_closed boolean
)
    RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            visible smallint[];
            mine record;
            upto bigint;
            past bigint;
            passed record;
        BEGIN
            -- Neither a change nor forgetting goes on meanwhile; sending may.
            SELECT least(place, c.last_seq) INTO upto FROM portico.conversation c
             WHERE c.space_id = here AND c.conversation_id = wanted
               AND (partly OR c.level <= clear_level AND c.compartments <@ clear_compartments)
               AND portico.bridge_sees(c.level, c.compartments)
               AND (NOT c.closed OR clear_closed OR portico.bridge_takes_part(wanted))
               FOR KEY SHARE;
            SELECT t.last_seq, t.seen, t.apart INTO mine FROM portico.participant t
             WHERE t.space_id = here AND t.principal_id = me AND t.conversation_id = wanted
               FOR NO KEY UPDATE;
            IF NOT FOUND OR upto IS NULL THEN
                RETURN false;
            END IF;
            IF upto <= mine.last_seq THEN
                RETURN true;
            END IF;
            past := upto;
            IF partly THEN
                SELECT coalesce(array_agg(l.number), '{}') INTO visible FROM portico.bridge_label l
                 WHERE l.space_id = here AND l.level <= clear_level AND l.compartments <@ clear_compartments
                   AND portico.bridge_sees(l.level, l.compartments);
                SELECT coalesce(min(m.seq) - 1, upto) INTO past FROM portico.message m
                 WHERE m.space_id = here AND m.conversation_id = wanted
                   AND m.seq > mine.last_seq AND m.seq <= upto AND m.deleted_at IS NULL
                   AND m.label <> ALL (visible) AND m.sender <> me
                   AND NOT EXISTS (SELECT FROM portico.read_message r
                                    WHERE r.space_id = here AND r.principal_id = me
                                      AND r.conversation_id = wanted AND r.seq = m.seq);
                FOR passed IN
                    WITH put AS (
                        INSERT INTO portico.read_message (space_id, principal_id, conversation_id, seq, label)
                        SELECT here, me, wanted, m.seq, m.label FROM portico.message m
                         WHERE m.space_id = here AND m.conversation_id = wanted
                           AND m.seq > past AND m.seq <= upto AND m.deleted_at IS NULL
                           AND m.label = ANY (visible) AND m.sender <> me
                        ON CONFLICT DO NOTHING
                        RETURNING label
                    )
                    SELECT p.label, count(*) AS many FROM put p GROUP BY p.label
                LOOP
                    mine.apart[passed.label] := coalesce(mine.apart[passed.label], 0) + passed.many;
                END LOOP;
                DELETE FROM portico.mention n WHERE n.space_id = here AND n.principal_id = me
                   AND n.conversation_id = wanted AND n.seq <= upto AND n.label = ANY (visible);
            END IF;
            FOR passed IN
                SELECT m.label, count(*) AS many, count(*) FILTER (WHERE m.sender = me) AS own
                  FROM portico.message m
                 WHERE m.space_id = here AND m.conversation_id = wanted
                   AND m.seq > mine.last_seq AND m.seq <= past AND m.deleted_at IS NULL
                 GROUP BY m.label
            LOOP
                mine.seen[passed.label] := coalesce(mine.seen[passed.label], 0) + passed.many;
                mine.apart[passed.label] := coalesce(mine.apart[passed.label], 0) - passed.own;
            END LOOP;
            FOR passed IN
                WITH gone AS (
                    DELETE FROM portico.read_message r WHERE r.space_id = here AND r.principal_id = me
                       AND r.conversation_id = wanted AND r.seq <= past
                    RETURNING r.label
                )
                SELECT g.label, count(*) AS many FROM gone g GROUP BY g.label
            LOOP
                mine.apart[passed.label] := mine.apart[passed.label] - passed.many;
            END LOOP;
            UPDATE portico.participant t SET last_seq = past, seen = mine.seen, apart = mine.apart
             WHERE t.space_id = here AND t.principal_id = me AND t.conversation_id = wanted;
            DELETE FROM portico.mention n WHERE n.space_id = here AND n.principal_id = me
               AND n.conversation_id = wanted AND n.seq <= past;
            RETURN true;
        END
    $$;

CREATE FUNCTION portico.bridge_read_one(
    its_id uuid, clear_level smallint, clear_compartments text[], clear_closed boolean
)
    RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            its_conversation uuid;
            its record;
        BEGIN
            SELECT m.conversation_id INTO its_conversation FROM portico.message m
             WHERE m.space_id = here AND m.message_id = its_id;
            PERFORM FROM portico.conversation c
              WHERE c.space_id = here AND c.conversation_id = its_conversation
                AND c.level <= clear_level AND c.compartments <@ clear_compartments
                AND portico.bridge_sees(c.level, c.compartments)
                AND (NOT c.closed OR clear_closed OR portico.bridge_takes_part(its_conversation))
                FOR KEY SHARE;
            IF NOT FOUND THEN
                RETURN false;
            END IF;
            SELECT m.seq, m.label, m.sender INTO its FROM portico.message m
             WHERE m.space_id = here AND m.message_id = its_id AND m.deleted_at IS NULL
               AND m.level <= clear_level AND m.compartments <@ clear_compartments
               AND portico.bridge_sees(m.level, m.compartments);
            IF NOT FOUND THEN
                RETURN false;
            END IF;
            INSERT INTO portico.read_message (space_id, principal_id, conversation_id, seq, label)
            SELECT here, me, its_conversation, its.seq, its.label FROM portico.participant t
             WHERE t.space_id = here AND t.principal_id = me AND t.conversation_id = its_conversation
               AND t.last_seq < its.seq AND its.sender <> me FOR NO KEY UPDATE OF t
            ON CONFLICT DO NOTHING;
            IF FOUND THEN
                UPDATE portico.participant t SET apart[its.label] = coalesce(t.apart[its.label], 0) + 1
                 WHERE t.space_id = here AND t.principal_id = me AND t.conversation_id = its_conversation;
            END IF;
            DELETE FROM portico.mention n WHERE n.space_id = here AND n.principal_id = me
               AND n.conversation_id = its_conversation AND n.seq = its.seq;
            RETURN true;
        END
    $$;

-- Exactly as many as the caller would find by reading, with the labels of what was counted, each as
-- level and compartments. No message is less secret than its conversation: whoever sees a message sees
-- the conversation too. It starts at the caller's participations, however many conversations there are;
-- with `|| '{}'` an array is unpacked once, not for each of its elements.
CREATE FUNCTION portico.bridge_unread(wanted uuid[], clear_level smallint, clear_compartments text[])
    RETURNS TABLE (conversation_id uuid, unread bigint, mentioned bigint, labels text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20 SET search_path = portico, pg_temp
    SET plan_cache_mode = force_generic_plan
    AS $$
        #variable_conflict use_column
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            numbers smallint[];
            names text[];
        BEGIN
            SELECT array_agg(l.number), array_agg(concat_ws('+', l.level::text,
                       nullif(array_to_string(l.compartments, '+'), '')))
              INTO numbers, names FROM portico.bridge_label l
             WHERE l.space_id = here AND portico.bridge_sees(l.level, l.compartments)
               AND l.level <= clear_level AND l.compartments <@ clear_compartments;
            RETURN QUERY
            WITH named AS MATERIALIZED (
                SELECT n.conversation_id, count(*) AS many FROM portico.mention n
                 WHERE n.space_id = here AND n.principal_id = me AND n.label = ANY (numbers)
                 GROUP BY n.conversation_id
            )
            SELECT t.conversation_id, its.many, coalesce(n.many, 0), its.told
              FROM (SELECT t.conversation_id, t.seen || '{}' AS seen, t.apart || '{}' AS apart
                      FROM portico.participant t
                     WHERE t.space_id = here AND t.principal_id = me AND NOT t.muted
                       AND (wanted IS NULL OR t.conversation_id = ANY (wanted)) OFFSET 0) t
             CROSS JOIN LATERAL (
                    SELECT c.said || '{}' AS said FROM portico.conversation c
                     WHERE c.space_id = here AND c.conversation_id = t.conversation_id
                       AND c.archived_at IS NULL AND c.said <> t.seen OFFSET 0) c
              LEFT JOIN named n ON n.conversation_id = t.conversation_id
             CROSS JOIN LATERAL (
                    SELECT sum(l.many) AS many, string_agg(names[l.place], ',') AS told FROM (
                        SELECT v.place, (c.said[v.number] - coalesce(t.seen[v.number], 0)
                                         - coalesce(t.apart[v.number], 0))::integer AS many
                          FROM unnest(numbers) WITH ORDINALITY AS v (number, place)) l
                     WHERE l.many > 0) its
             WHERE its.many > 0;
        END
    $$;

-- When each visible conversation had its last visible message.
CREATE FUNCTION portico.bridge_active(
    its_project uuid, wanted uuid[],
    clear_level smallint, clear_compartments text[], clear_closed boolean
)
    RETURNS TABLE (conversation_id uuid, project_id uuid, active_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        WITH here AS MATERIALIZED (
            SELECT nullif(current_setting('portico.space', true), '')::uuid AS space,
                   nullif(current_setting('portico.principal', true), '')::uuid AS me
        ), visible AS MATERIALIZED (
            SELECT l.number FROM portico.bridge_label l, here h
             WHERE l.space_id = h.space AND portico.bridge_sees(l.level, l.compartments)
               AND l.level <= clear_level AND l.compartments <@ clear_compartments
        )
        SELECT c.conversation_id, c.project_id,
               greatest(c.made_at, (SELECT max(c.newest[v.number]) FROM visible v))
          FROM here h JOIN portico.conversation c ON c.space_id = h.space
         WHERE (its_project IS NULL OR c.project_id = its_project)
           AND (wanted IS NULL OR c.conversation_id = ANY (wanted))
           AND c.level <= clear_level AND c.compartments <@ clear_compartments
           AND portico.bridge_sees(c.level, c.compartments)
           AND (NOT c.closed OR (clear_closed OR c.conversation_id IN (
                    SELECT t.conversation_id FROM portico.participant t
                     WHERE t.space_id = h.space AND t.principal_id = h.me))
                AND c.conversation_id = ANY ((SELECT portico.own_conversations())::uuid[]))
    $$;

-- Sequence numbers of the next visible messages of a conversation or a thread; `back`: the ones before.
-- By label, so that hidden messages in between cost no time.
CREATE FUNCTION portico.bridge_places(
    wanted uuid, its_thread uuid, place bigint, back boolean, most integer,
    clear_level smallint, clear_compartments text[], clear_closed boolean
)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            numbers smallint[] := ARRAY(
                SELECT l.number
                  FROM portico.conversation c JOIN portico.bridge_label l ON l.space_id = here
                 WHERE c.space_id = here AND c.conversation_id = wanted
                   AND c.said[l.number] IS NOT NULL
                   AND portico.bridge_sees(l.level, l.compartments)
                   AND l.level <= clear_level AND l.compartments <@ clear_compartments
                   AND (NOT c.closed OR (clear_closed OR portico.bridge_takes_part(wanted))
                                    AND wanted = ANY (portico.own_conversations())));
        BEGIN
            IF its_thread IS NOT NULL THEN
                RETURN ARRAY(
                    SELECT s.seq FROM unnest(numbers) AS its (label) CROSS JOIN LATERAL (
                        SELECT m.seq FROM portico.message m
                         WHERE m.space_id = here AND m.thread = its_thread AND m.label = its.label
                           AND m.seq > place ORDER BY m.seq LIMIT most) s
                     ORDER BY s.seq LIMIT most);
            ELSIF back THEN
                RETURN ARRAY(
                    SELECT s.seq FROM unnest(numbers) AS its (label) CROSS JOIN LATERAL (
                        SELECT m.seq FROM portico.message m
                         WHERE m.space_id = here AND m.conversation_id = wanted
                           AND m.label = its.label AND m.seq < place
                         ORDER BY m.seq DESC LIMIT most) s
                     ORDER BY s.seq DESC LIMIT most);
            END IF;
            RETURN ARRAY(
                SELECT s.seq FROM unnest(numbers) AS its (label) CROSS JOIN LATERAL (
                    SELECT m.seq FROM portico.message m
                     WHERE m.space_id = here AND m.conversation_id = wanted
                       AND m.label = its.label AND m.seq > place
                     ORDER BY m.seq LIMIT most) s
                 ORDER BY s.seq LIMIT most);
        END
    $$;

-- Label and end of a conversation, for the application alone: the end is never shown.
CREATE FUNCTION portico.bridge_end(
    wanted uuid, clear_level smallint, clear_compartments text[], clear_closed boolean
)
    RETURNS TABLE (place bigint, level smallint, compartments text[])
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 1 SET search_path = portico, pg_temp
    AS $$
        SELECT c.last_seq, c.level, c.compartments FROM portico.conversation c
         WHERE c.space_id = nullif(current_setting('portico.space', true), '')::uuid
           AND c.conversation_id = wanted
           AND c.level <= clear_level AND c.compartments <@ clear_compartments
           AND portico.bridge_sees(c.level, c.compartments)
           AND (NOT c.closed OR (clear_closed OR portico.bridge_takes_part(wanted))
                            AND wanted = ANY (portico.own_conversations()))
    $$;

-- Messages with all of these words, the newest first. Under row-level security no index is used for
-- words, so it runs with the owner's rights and searches only labels that the caller may see. A common
-- word is soon found by scanning back from the newest message, a rare one only by the index. A sample of
-- the newest messages, larger the more messages there are, decides: without a hit it takes the index;
-- with hits it scans as far as they promise enough, unless the index is quicker. Both find the same.
-- Plans are cached, since planning takes as long as searching. A scanned message is compared with the
-- words of its own label only.
CREATE FUNCTION portico.bridge_find(
    words text, its_project uuid, its_conversation uuid, most integer,
    clear_level smallint, clear_compartments text[], clear_closed boolean,
    whole_level smallint, whole_compartments text[]
)
    RETURNS uuid[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            mine uuid[] := portico.own_conversations();
            inside uuid[];
            numbers smallint[] := ARRAY(
                SELECT l.number FROM portico.bridge_label l
                 WHERE l.space_id = here AND portico.bridge_sees(l.level, l.compartments)
                   AND l.level <= clear_level AND l.compartments <@ clear_compartments);
            number smallint;
            place text;
            spelled text[];
            told text;
            told_any text;
            wanted tsquery[];
            wanted_any tsquery;
            every double precision;
            there double precision;
            reach double precision;
            hits double precision;
            ids uuid[];
        BEGIN
            spelled := ARRAY(
                SELECT replace(replace(its, '\', '\\'), '''', '''''')
                  FROM unnest(tsvector_to_array(to_tsvector('simple', left(words, 1000)))) AS its
                 WHERE octet_length(its) < 2000);
            IF spelled = '{}' OR numbers = '{}' THEN
                RETURN '{}';
            END IF;
            FOREACH number IN ARRAY numbers LOOP
                place := portico.bridge_place(here, number);
                told := '''' || place || array_to_string(spelled, ''' & ''' || place) || '''';
                wanted[number] := told::tsquery;
                told_any := concat_ws(' | ', told_any, told);
            END LOOP;
            wanted_any := told_any::tsquery;
            IF NOT clear_closed THEN
                mine := ARRAY(SELECT t.conversation_id FROM portico.participant t
                               WHERE t.space_id = here AND t.principal_id = me
                                 AND t.conversation_id = ANY (mine));
            END IF;
            IF its_conversation IS NOT NULL OR its_project IS NOT NULL THEN
                SELECT coalesce(array_agg(c.conversation_id), '{}'), sum(c.last_seq) INTO inside, there
                  FROM portico.conversation c
                 WHERE c.space_id = here AND (its_project IS NULL OR c.project_id = its_project)
                   AND (its_conversation IS NULL OR c.conversation_id = its_conversation)
                   AND c.level <= whole_level AND c.compartments <@ whole_compartments
                   AND portico.bridge_sees(c.level, c.compartments);
            END IF;
            SELECT greatest(c.reltuples, 1) INTO every FROM pg_catalog.pg_class c
             WHERE c.oid = 'portico.message'::regclass;
            reach := 100 + sqrt(every) / 2;
            LOOP
                ids := ARRAY(
                    SELECT m.message_id FROM (
                        SELECT m.message_id, m.conversation_id, m.label, m.closed, m.sent_at,
                               m.deleted_at, m.words
                          FROM portico.message m WHERE m.space_id = here
                         ORDER BY m.sent_at DESC, m.message_id DESC LIMIT reach::bigint) m
                     WHERE m.words @@ wanted[m.label] AND m.label = ANY (numbers) AND m.deleted_at IS NULL
                       AND (NOT m.closed OR m.conversation_id = ANY (mine))
                       AND (inside IS NULL OR m.conversation_id = ANY (inside))
                     ORDER BY m.sent_at DESC, m.message_id DESC LIMIT most);
                hits := cardinality(ids);
                IF hits = most THEN
                    RETURN ids;
                END IF;
                -- By the index a message takes as long as five of those one after the other.
                EXIT WHEN hits = 0 OR 2 * reach * most / hits > 5 * every * hits / reach;
                reach := 2 * reach * most / hits;
            END LOOP;
            IF inside IS NOT NULL THEN
                SELECT count(*) INTO hits FROM (
                    SELECT * FROM portico.message m WHERE m.space_id = here
                     ORDER BY m.sent_at DESC, m.message_id DESC LIMIT reach::bigint) m
                 WHERE m.words @@ wanted[m.label] AND m.label = ANY (numbers);
                IF there * reach < every * (hits + 1) THEN
                    RETURN ARRAY(
                        SELECT f.message_id FROM (
                            SELECT m.message_id, m.sent_at, m.words FROM portico.message m
                             WHERE m.space_id = here AND m.conversation_id = ANY (inside)
                               AND m.label = ANY (numbers) AND m.deleted_at IS NULL
                               AND (NOT m.closed OR m.conversation_id = ANY (mine))
                            OFFSET 0) f
                         WHERE f.words @@ wanted_any
                         ORDER BY f.sent_at DESC, f.message_id DESC LIMIT most);
                END IF;
            END IF;
            -- By nothing but the words: those of a space and a label are words of their own.
            RETURN ARRAY(
                SELECT m.message_id FROM (SELECT * FROM portico.message m WHERE m.words @@ wanted_any OFFSET 0) m
                 WHERE m.space_id = here AND m.label = ANY (numbers) AND m.deleted_at IS NULL
                   AND (NOT m.closed OR m.conversation_id = ANY (mine))
                   AND (inside IS NULL OR m.conversation_id = ANY (inside))
                 ORDER BY m.sent_at DESC, m.message_id DESC LIMIT most);
        END
    $$;

-- These messages in this order, with the caller's rights and under row-level security.
CREATE FUNCTION portico.bridge_messages(
    ids uuid[], clear_level smallint, clear_compartments text[], clear_closed boolean
)
    RETURNS TABLE (
        conversation_id uuid, seq bigint, message_id uuid, level smallint, compartments text[],
        sender uuid, sender_name text, body text, reply_to uuid, thread uuid, mentions uuid[],
        addressed uuid[], attachments text[], acknowledge boolean, acknowledge_by timestamptz,
        untrusted boolean, sent_at timestamptz, edited_at timestamptz, deleted_at timestamptz
    )
    LANGUAGE plpgsql STABLE ROWS 20 SET search_path = portico, pg_temp
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
    AS $$
        BEGIN
            RETURN QUERY
                SELECT m.conversation_id, m.seq, m.message_id, m.level, m.compartments, m.sender,
                       m.sender_name, m.body, m.reply_to, m.thread, m.mentions, m.addressed,
                       m.attachments, m.acknowledge, m.acknowledge_by, m.untrusted, m.sent_at,
                       m.edited_at, m.deleted_at
                  FROM portico.message m
                 WHERE m.space_id = nullif(current_setting('portico.space', true), '')::uuid
                   AND m.message_id = ANY (ids) AND m.deleted_at IS NULL
                   AND m.level <= clear_level AND m.compartments <@ clear_compartments
                   AND (NOT m.closed OR clear_closed OR portico.bridge_takes_part(m.conversation_id))
                 ORDER BY array_position(ids, m.message_id);
        END
    $$;

-- Messages with a similar meaning, the nearest first, by the vectors of one model. It searches label by
-- label, so that hidden messages affect neither the result nor whether an index is used; where there is
-- an index it is used, without sorting. Closed conversations are in no index, and of a project that is
-- small within its label an index knows too little: there every vector is compared.
CREATE FUNCTION portico.bridge_near(
    its_model text, its_vector text, its_project uuid, its_conversation uuid, most integer,
    clear_level smallint, clear_compartments text[], clear_closed boolean
)
    RETURNS TABLE (message_id uuid, distance double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20 SET search_path = portico, pg_temp
    SET enable_sort = off
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            mine uuid[] := portico.own_conversations();
            inside uuid[];
            few smallint[] := '{}';
            numbers smallint[] := ARRAY(
                SELECT l.number FROM portico.bridge_label l
                 WHERE l.space_id = here AND portico.bridge_sees(l.level, l.compartments)
                   AND l.level <= clear_level AND l.compartments <@ clear_compartments);
            number smallint;
            far text := format('(v.embedding::public.halfvec(%s)) OPERATOR(public.<=>) $1',
                               public.vector_dims(its_vector::public.halfvec));
            those text := format('SELECT v.message_id, v.embedding FROM portico.message_vector v'
                ' WHERE v.space_id = %L AND v.model = %L AND v.embedding IS NOT NULL', here, its_model);
            parts text[];
        BEGIN
            -- Enough of a graph is looked at for ten to be the nearest ten, and on until there are
            -- as many as are wanted; and some more, since a graph rounds.
            PERFORM set_config('hnsw.ef_search', '320', true),
                    set_config('hnsw.iterative_scan', 'strict_order', true);
            SELECT coalesce(array_agg(c.conversation_id), '{}') INTO mine FROM portico.conversation c
             WHERE c.space_id = here AND c.conversation_id = ANY (mine) AND c.closed
               AND (clear_closed OR portico.bridge_takes_part(c.conversation_id));
            IF mine <> '{}' THEN
                parts := ARRAY[those || ' AND v.closed AND v.conversation_id = ANY ($3) AND v.label = ANY ($2)'];
            END IF;
            IF its_project IS NOT NULL OR its_conversation IS NOT NULL THEN
                SELECT coalesce(array_agg(c.conversation_id), '{}') INTO inside
                  FROM portico.conversation c
                 WHERE c.space_id = here AND (its_project IS NULL OR c.project_id = its_project)
                   AND (its_conversation IS NULL OR c.conversation_id = its_conversation);
                few := ARRAY(
                    SELECT its.label FROM unnest(numbers) AS its (label)
                     WHERE 20000 > (SELECT coalesce(sum(c.said[its.label]), 0) FROM portico.conversation c
                                     WHERE c.space_id = here AND c.conversation_id = ANY (inside)
                                       AND NOT c.closed));
                parts := parts || (those || ' AND NOT v.closed AND v.label = ANY ($5)');
            END IF;
            FOREACH number IN ARRAY numbers LOOP
                CONTINUE WHEN number = ANY (few);
                parts := parts || format('%s AND NOT v.closed AND v.label = %s', those, number);
            END LOOP;
            -- Which of those that are equally near come first is where they lie in the table, and so by
            -- what else lies there: all of them are looked at.
            SELECT string_agg('(' || its || CASE WHEN inside IS NULL THEN '' ELSE
                              ' AND v.conversation_id = ANY ($4)' END || ' ORDER BY ' || far
                              || ' FETCH FIRST ($6 + 100) ROWS WITH TIES)',
                              ' UNION ALL ') INTO those FROM unnest(parts) AS its;
            IF those IS NULL THEN
                RETURN;
            END IF;
            RETURN QUERY EXECUTE 'SELECT v.message_id, v.embedding OPERATOR(public.<=>) $1 AS far FROM ('
                || those || ') v ORDER BY far, v.message_id LIMIT $6'
                USING its_vector::public.halfvec, numbers, mine, inside, few, most;
        END
    $$;

-- Messages without a current vector by this model, with what tells whether the text is unchanged when
-- the vector is stored.
CREATE FUNCTION portico.bridge_unembedded(
    its_model text, most integer, clear_level smallint, clear_compartments text[]
)
    RETURNS TABLE (message_id uuid, body text, at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        WITH here AS MATERIALIZED (
            SELECT nullif(current_setting('portico.space', true), '')::uuid AS space
        ), wanted AS (
            (SELECT v.message_id FROM here h
               JOIN portico.message_vector v ON v.space_id = h.space AND v.stale
              LIMIT most)
            UNION
            (SELECT m.message_id FROM here h
               JOIN portico.conversation c ON c.space_id = h.space
               LEFT JOIN portico.embedding_progress r ON r.space_id = c.space_id
                AND r.conversation_id = c.conversation_id AND r.model = its_model
              CROSS JOIN LATERAL (
                    SELECT s.message_id FROM portico.message s
                     WHERE s.space_id = h.space AND s.conversation_id = c.conversation_id
                       AND s.seq > coalesce(r.seq, 0) AND s.deleted_at IS NULL
                       AND NOT EXISTS (SELECT FROM portico.message_vector v
                                        WHERE v.space_id = h.space AND v.message_id = s.message_id
                                          AND v.model = its_model)
                     ORDER BY s.seq LIMIT most) m
              WHERE c.last_seq > coalesce(r.seq, 0)
              LIMIT most)
        )
        SELECT m.message_id, m.body, coalesce(m.edited_at, m.sent_at)
          FROM here h CROSS JOIN wanted w
          JOIN portico.message m ON m.space_id = h.space AND m.message_id = w.message_id
         WHERE m.deleted_at IS NULL AND portico.bridge_sees(m.level, m.compartments)
           AND m.level <= clear_level AND m.compartments <@ clear_compartments
         LIMIT most
    $$;

CREATE FUNCTION portico.bridge_embed(
    its_model text, ids uuid[], ats timestamptz[], vectors text[],
    clear_level smallint, clear_compartments text[]
)
    RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            kept bigint;
        BEGIN
            WITH given AS MATERIALIZED (
                SELECT m.message_id, m.conversation_id, m.level, m.compartments, m.label, m.closed, g.vector
                  FROM unnest(ids, ats, vectors) AS g (id, at, vector)
                  JOIN portico.message m ON m.space_id = here AND m.message_id = g.id
                 WHERE m.deleted_at IS NULL AND coalesce(m.edited_at, m.sent_at) = g.at
                   AND portico.bridge_sees(m.level, m.compartments)
                   AND m.level <= clear_level AND m.compartments <@ clear_compartments
                 ORDER BY m.message_id FOR SHARE OF m
            ), put AS (
                INSERT INTO portico.message_vector AS v (
                    space_id, message_id, conversation_id, level, compartments, label, closed, model,
                    embedding)
                SELECT here, g.message_id, g.conversation_id, g.level, g.compartments, g.label, g.closed,
                       its_model, g.vector::public.halfvec FROM given g
                ON CONFLICT (space_id, message_id) DO UPDATE
                   SET model = excluded.model, embedding = excluded.embedding, stale = false,
                       level = excluded.level, compartments = excluded.compartments,
                       label = excluded.label
                RETURNING 1
            )
            SELECT count(*) INTO kept FROM put;
            INSERT INTO portico.embedding_progress AS r (space_id, conversation_id, model, seq)
            SELECT here, c.conversation_id, its_model, coalesce((
                        SELECT s.seq - 1 FROM portico.message s
                         WHERE s.space_id = here AND s.conversation_id = c.conversation_id
                           AND s.seq > coalesce(b.seq, 0) AND s.seq <= c.last_seq
                           AND s.deleted_at IS NULL
                           AND NOT EXISTS (SELECT FROM portico.message_vector v
                                            WHERE v.space_id = here AND v.message_id = s.message_id
                                              AND v.model = its_model)
                         ORDER BY s.seq LIMIT 1), c.last_seq)
              FROM portico.conversation c
              LEFT JOIN portico.embedding_progress b ON b.space_id = here
               AND b.conversation_id = c.conversation_id AND b.model = its_model
             WHERE c.space_id = here AND c.last_seq > coalesce(b.seq, 0)
             ORDER BY c.conversation_id
            ON CONFLICT (space_id, conversation_id) DO UPDATE
               SET seq = CASE WHEN r.model = excluded.model THEN greatest(r.seq, excluded.seq)
                              ELSE excluded.seq END,
                   model = excluded.model;
            RETURN kept;
        END
    $$;

-- The compartments in use: whoever makes vectors must be cleared for all of them.
CREATE FUNCTION portico.bridge_compartments()
    RETURNS text[]
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT coalesce(array_agg(DISTINCT its), '{}')
          FROM portico.bridge_label l CROSS JOIN unnest(l.compartments) AS its
         WHERE l.space_id = nullif(current_setting('portico.space', true), '')::uuid
    $$;

REVOKE ALL ON FUNCTION
    portico.bridge_open, portico.bridge_send, portico.bridge_change, portico.bridge_acknowledge,
    portico.bridge_join, portico.bridge_read_to, portico.bridge_read_one, portico.bridge_unread,
    portico.bridge_active, portico.bridge_places, portico.bridge_end, portico.bridge_find,
    portico.bridge_messages, portico.bridge_near, portico.bridge_unembedded,
    portico.bridge_embed, portico.bridge_compartments
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    portico.bridge_open, portico.bridge_send, portico.bridge_change, portico.bridge_acknowledge,
    portico.bridge_join, portico.bridge_read_to, portico.bridge_read_one, portico.bridge_unread,
    portico.bridge_active, portico.bridge_places, portico.bridge_end, portico.bridge_find,
    portico.bridge_messages, portico.bridge_near, portico.bridge_unembedded,
    portico.bridge_embed, portico.bridge_compartments
    TO portico_app;

-- For the engine, which learns how much there is and not what: spaces with messages to embed.
CREATE FUNCTION portico.bridge_spaces_to_embed(its_model text)
    RETURNS TABLE (space_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT c.space_id FROM portico.conversation c
          LEFT JOIN portico.embedding_progress r ON r.space_id = c.space_id
           AND r.conversation_id = c.conversation_id AND r.model = its_model
         WHERE c.last_seq > coalesce(r.seq, 0)
         UNION
        SELECT v.space_id FROM portico.message_vector v WHERE v.stale
    $$;

-- Deletes some old messages of one conversation; counters stay exact.
CREATE FUNCTION portico.bridge_forget(older_than interval, most integer)
    RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            its record;
            seqs bigint[];
            part record;
            passed record;
        BEGIN
            SELECT s.space_id, old.conversation_id INTO its
              FROM portico.space s CROSS JOIN LATERAL (
                    SELECT m.conversation_id FROM portico.message m
                     WHERE m.space_id = s.space_id AND m.sent_at < now() - older_than
                     ORDER BY m.sent_at LIMIT 1) old
             LIMIT 1;
            IF NOT FOUND THEN
                RETURN 0;
            END IF;
            PERFORM FROM portico.conversation c
              WHERE c.space_id = its.space_id AND c.conversation_id = its.conversation_id FOR UPDATE;
            SELECT array_agg(o.seq) INTO seqs FROM (
                SELECT m.seq FROM portico.message m
                 WHERE m.space_id = its.space_id AND m.conversation_id = its.conversation_id
                   AND m.sent_at < now() - older_than ORDER BY m.seq LIMIT most) o;
            FOR passed IN
                SELECT m.label, count(*) AS many FROM portico.message m
                 WHERE m.space_id = its.space_id AND m.conversation_id = its.conversation_id
                   AND m.seq = ANY (seqs) AND m.deleted_at IS NULL GROUP BY m.label
            LOOP
                UPDATE portico.conversation c
                   SET said[passed.label] = c.said[passed.label] - passed.many
                 WHERE c.space_id = its.space_id AND c.conversation_id = its.conversation_id;
            END LOOP;
            FOR part IN
                SELECT t.principal_id, t.last_seq, t.seen FROM portico.participant t
                 WHERE t.space_id = its.space_id AND t.conversation_id = its.conversation_id
                   AND t.last_seq >= seqs[1] ORDER BY t.principal_id FOR NO KEY UPDATE
            LOOP
                FOR passed IN
                    SELECT m.label, count(*) AS many FROM portico.message m
                     WHERE m.space_id = its.space_id AND m.conversation_id = its.conversation_id
                       AND m.seq = ANY (seqs) AND m.seq <= part.last_seq
                       AND m.deleted_at IS NULL GROUP BY m.label
                LOOP
                    part.seen[passed.label] := part.seen[passed.label] - passed.many;
                END LOOP;
                UPDATE portico.participant t SET seen = part.seen
                 WHERE t.space_id = its.space_id AND t.conversation_id = its.conversation_id
                   AND t.principal_id = part.principal_id;
            END LOOP;
            FOR passed IN
                WITH gone AS (
                    DELETE FROM portico.read_message r WHERE r.space_id = its.space_id
                       AND r.conversation_id = its.conversation_id AND r.seq = ANY (seqs)
                    RETURNING r.principal_id, r.label
                ), own AS (
                    SELECT t.principal_id, m.label
                      FROM portico.message m JOIN portico.participant t
                        ON t.space_id = m.space_id AND t.conversation_id = m.conversation_id
                       AND t.principal_id = m.sender AND t.last_seq < m.seq
                     WHERE m.space_id = its.space_id AND m.conversation_id = its.conversation_id
                       AND m.seq = ANY (seqs) AND m.deleted_at IS NULL
                )
                SELECT g.principal_id, g.label, count(*) AS many
                  FROM (SELECT * FROM gone UNION ALL SELECT * FROM own) g
                 GROUP BY g.principal_id, g.label
            LOOP
                UPDATE portico.participant t SET apart[passed.label] = t.apart[passed.label] - passed.many
                 WHERE t.space_id = its.space_id AND t.conversation_id = its.conversation_id
                   AND t.principal_id = passed.principal_id;
            END LOOP;
            DELETE FROM portico.mention n WHERE n.space_id = its.space_id
               AND n.conversation_id = its.conversation_id AND n.seq = ANY (seqs);
            DELETE FROM portico.message m WHERE m.space_id = its.space_id
               AND m.conversation_id = its.conversation_id AND m.seq = ANY (seqs);
            RETURN coalesce(cardinality(seqs), 0);
        END
    $$;

-- Deletes old attachments that no message refers to.
CREATE FUNCTION portico.bridge_forget_attachments(older_than interval, most integer)
    RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        WITH old AS (
            SELECT a.space_id, a.digest, a.level, a.compartments FROM portico.attachment a
             WHERE a.added_at < now() - older_than
               AND NOT EXISTS (SELECT FROM portico.message m
                                WHERE m.attachments <> '{}' AND m.attachments @> ARRAY[a.digest]
                                  AND m.space_id = a.space_id)
             LIMIT most
        ), gone AS (
            DELETE FROM portico.attachment a USING old o
             WHERE a.space_id = o.space_id AND a.digest = o.digest AND a.level = o.level
               AND a.compartments = o.compartments
            RETURNING 1
        )
        SELECT count(*) FROM gone
    $$;

-- Deletes versions that were replaced that long ago, and what was forgotten or has expired then, once
-- no earlier version would reappear.
CREATE FUNCTION portico.bridge_forget_memory(older_than interval, most integer)
    RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        WITH old AS (
            SELECT m.space_id, m.project_id, m.key, m.level, m.compartments, m.version
              FROM portico.memory m LEFT JOIN LATERAL (
                    SELECT n.written_at FROM portico.memory n
                     WHERE n.space_id = m.space_id AND n.project_id = m.project_id AND n.key = m.key
                       AND n.level = m.level AND n.compartments = m.compartments
                       AND n.version > m.version
                     ORDER BY n.version LIMIT 1) next ON true
             WHERE m.written_at < now() - older_than
               AND CASE WHEN next.written_at IS NOT NULL THEN next.written_at < now() - older_than
                        ELSE (m.forgotten OR m.expires_at < now() - older_than)
                             AND NOT EXISTS (
                                SELECT FROM portico.memory b
                                 WHERE b.space_id = m.space_id AND b.project_id = m.project_id
                                   AND b.key = m.key AND b.level = m.level
                                   AND b.compartments = m.compartments AND b.version < m.version)
                   END
             LIMIT most
        ), gone AS (
            DELETE FROM portico.memory m USING old o
             WHERE m.space_id = o.space_id AND m.project_id = o.project_id AND m.key = o.key
               AND m.level = o.level AND m.compartments = o.compartments AND m.version = o.version
            RETURNING 1
        )
        SELECT count(*) FROM gone
    $$;

REVOKE ALL ON FUNCTION
    portico.bridge_spaces_to_embed, portico.bridge_forget, portico.bridge_forget_attachments,
    portico.bridge_forget_memory
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    portico.bridge_spaces_to_embed, portico.bridge_forget, portico.bridge_forget_attachments,
    portico.bridge_forget_memory
    TO portico_engine;

-- Leases and memory ------------------------------------------------------------------------------


-- The next fencing token of a project; it never decreases.
CREATE FUNCTION portico.bridge_next_token(wanted uuid)
    RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        UPDATE portico.project p SET token = p.token + 1
         WHERE p.space_id = nullif(current_setting('portico.space', true), '')::uuid
           AND p.project_id = wanted AND portico.bridge_sees(p.level, p.compartments)
           AND portico.mark_covered(p.level, p.compartments)
        RETURNING p.token
    $$;
REVOKE ALL ON FUNCTION portico.bridge_next_token(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.bridge_next_token(uuid) TO portico_app;

-- Current memories with all of these words, the newest first.
CREATE FUNCTION portico.bridge_find_memory(
    words text, wanted_project uuid, its_level smallint, its_compartments text[], now timestamptz,
    most integer
)
    RETURNS TABLE (key text, level smallint, compartments text[], version integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            wanted tsquery;
        BEGIN
            SELECT (string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' & ')
                    || ' & ''~' || here::text || ''' & ''~' || wanted_project::text || '''')::tsquery
              INTO wanted FROM unnest(to_tsvector('simple', translate(left(words, 1000), '/._:-', '     ')));
            IF wanted IS NULL THEN
                RETURN;
            END IF;
            RETURN QUERY
            SELECT m.key, m.level, m.compartments, m.version FROM portico.memory m
             WHERE m.space_id = here AND m.project_id = wanted_project
               AND (to_tsvector('simple', translate(m.key, '/._:-', '     '))
                    || coalesce(json_to_tsvector('simple', m.value, '["all"]'), '')
                    || array_to_tsvector(ARRAY['~' || m.space_id::text, '~' || m.project_id::text])) @@ wanted
               AND NOT m.forgotten AND (m.expires_at IS NULL OR m.expires_at > now)
               AND portico.bridge_sees(m.level, m.compartments)
               AND m.level <= its_level AND m.compartments <@ its_compartments
               AND NOT EXISTS (
                   SELECT FROM portico.memory later
                    WHERE later.space_id = here AND later.project_id = wanted_project
                      AND later.key = m.key AND later.level = m.level
                      AND later.compartments = m.compartments AND later.version > m.version)
             ORDER BY m.written_at DESC, m.key COLLATE "C", m.level, cardinality(m.compartments),
                      array_to_string(m.compartments, '+') COLLATE "C"
             LIMIT most;
        END
    $$;
REVOKE ALL ON FUNCTION portico.bridge_find_memory(text, uuid, smallint, text[], timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.bridge_find_memory(text, uuid, smallint, text[], timestamptz, integer) TO portico_app;

-- Declassification -------------------------------------------------------------------------------
-- The only way to write below what was read: a copy of exactly the text that a person has approved, who
-- is not the requester. The approval is bound to the message with its current label, to the label of the
-- copy, and to its text; it is used up in the same transaction.

CREATE FUNCTION portico.bridge_declassify(
    its_record uuid, its_approval uuid, its_source uuid, its_copy uuid, to_level smallint,
    to_compartments text[], its_body text, its_sender_name text, its_rules text[],
    its_signature text, at timestamptz, clear_level smallint, clear_compartments text[],
    clear_closed boolean
)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        #variable_conflict use_column
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            task text := current_setting('portico.context', true);
            words text := encode(sha256(convert_to(its_body, 'UTF8')), 'hex');
            was record;
            yes record;
            came text;
        BEGIN
            SELECT m.conversation_id, m.level, m.compartments, m.untrusted INTO was
              FROM portico.message m
             WHERE m.space_id = here AND m.message_id = its_source AND m.deleted_at IS NULL
               AND m.level <= clear_level AND m.compartments <@ clear_compartments
               AND portico.bridge_sees(m.level, m.compartments)
               AND (NOT m.closed OR m.conversation_id = ANY (portico.own_conversations()))
               AND to_level <= m.level AND to_compartments <@ m.compartments;
            IF NOT FOUND THEN
                RETURN 'not_approved';
            END IF;
            SELECT a.answered_by INTO yes
              FROM portico.approval a JOIN portico.principal p
                ON p.space_id = a.space_id AND p.principal_id = a.answered_by AND p.kind = 'person'
             WHERE a.space_id = here AND a.approval_id = its_approval AND a.action = 'declassify'
               AND a.status = 'approved' AND a.claimed_at IS NOT NULL AND a.outcome IS NULL
               AND a.principal_id = me AND a.answered_by <> me
               AND was.level <= a.level AND was.compartments <@ a.compartments
               AND a.pin = concat_ws(' ', its_source,
                    was.level || ':' || array_to_string(ARRAY(
                        SELECT unnest(was.compartments) COLLATE "C" ORDER BY 1), ','),
                    to_level || ':' || array_to_string(ARRAY(
                        SELECT unnest(to_compartments) COLLATE "C" ORDER BY 1), ','),
                    words);
            IF NOT FOUND THEN
                RETURN 'not_approved';
            END IF;
            -- Of a task that nobody is at: what the asker has read is not in what is written here.
            PERFORM set_config('portico.context', its_approval::text, true);
            SELECT s.outcome INTO came FROM portico.bridge_send(
                wanted => was.conversation_id, its_id => its_copy, its_level => to_level,
                its_compartments => to_compartments, its_body => its_body,
                its_sender_name => its_sender_name, its_reply_to => NULL, its_mentions => '{}',
                its_addressed => '{}', its_attachments => '{}', its_acknowledge => false,
                its_acknowledge_by => NULL, its_untrusted => was.untrusted, its_copy_of => its_source,
                its_key => NULL, its_digest => NULL, at => at, task_opened => false, clear_level => clear_level,
                clear_compartments => clear_compartments, clear_closed => clear_closed) s;
            PERFORM set_config('portico.context', coalesce(task, ''), true);
            IF came <> 'sent' THEN
                RETURN came;
            END IF;
            INSERT INTO portico.declassification (
                space_id, record_id, level, compartments, source_id, copy_id, after_level,
                after_compartments, rules, asked_by, approved_by, approval_id, at, digest, signature)
            VALUES (
                here, its_record, was.level, was.compartments, its_source, its_copy, to_level,
                to_compartments, its_rules, me, yes.answered_by, its_approval, at, words, its_signature);
            RETURN 'sent';
        END
    $$;
REVOKE ALL ON FUNCTION portico.bridge_declassify(
    uuid, uuid, uuid, uuid, smallint, text[], text, text, text[], text, timestamptz, smallint, text[],
    boolean
) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.bridge_declassify(
    uuid, uuid, uuid, uuid, smallint, text[], text, text, text[], text, timestamptz, smallint, text[],
    boolean
) TO portico_app;


-- ================================================================================================
-- Debate: debates with their notes, seats, questions, outcomes, personas and what they may cost
-- ================================================================================================

-- Nobody sees what is above their clearance, and what is written is never less secret than what was
-- read for it. A private debate is there for whoever started it and for nobody else; a guest sees
-- their own seat, and what they are asked in it.

-- Tables -----------------------------------------------------------------------------------------

CREATE TABLE portico.debate (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    debate_id       uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    private         boolean     NOT NULL,
    untrusted       boolean     NOT NULL,
    project_id      uuid,
    part_of         uuid,
    analysis        boolean     NOT NULL,
    started_by      uuid        NOT NULL,
    run_id          uuid        NOT NULL,
    context_id      uuid,
    status          text        NOT NULL CHECK (status IN
        ('running', 'decided', 'no_decision', 'escalated', 'stopped', 'failed')),
    question        text        NOT NULL,
    body            json        NOT NULL CHECK (json_typeof(body) = 'object'),
    guests          integer     NOT NULL CHECK (guests >= 0),
    unbounded       boolean     NOT NULL,
    cap_tokens      bigint      CHECK (cap_tokens >= 0),
    cap_money       numeric     CHECK (cap_money >= 0),
    deadline        timestamptz NOT NULL,
    started_at      timestamptz NOT NULL,
    ended_at        timestamptz,
    decision        json,
    tokens          bigint      NOT NULL DEFAULT 0 CHECK (tokens >= 0),
    money           numeric     NOT NULL DEFAULT 0 CHECK (money >= 0),
    time            interval    NOT NULL DEFAULT '0',
    calls           integer     NOT NULL DEFAULT 0 CHECK (calls >= 0),
    notes           integer     NOT NULL DEFAULT 0,
    copy_of         uuid,
    PRIMARY KEY (space_id, debate_id),
    FOREIGN KEY (space_id, project_id) REFERENCES portico.project ON DELETE CASCADE,
    FOREIGN KEY (space_id, part_of) REFERENCES portico.debate ON DELETE CASCADE
);
CREATE INDEX debate_newest ON portico.debate (space_id, started_at, debate_id) WHERE part_of IS NULL;
CREATE INDEX debate_of_project ON portico.debate (space_id, project_id) WHERE project_id IS NOT NULL;
CREATE INDEX debate_parts ON portico.debate (space_id, part_of) WHERE part_of IS NOT NULL;
CREATE INDEX debate_by_age ON portico.debate (ended_at) WHERE ended_at IS NOT NULL;
COMMENT ON COLUMN portico.debate.private IS 'for whoever started it alone';
COMMENT ON COLUMN portico.debate.question IS 'to be found by; body has it word for word';
COMMENT ON COLUMN portico.debate.money IS 'US dollars';
COMMENT ON COLUMN portico.debate.notes IS 'how many there are';
COMMENT ON COLUMN portico.debate.copy_of IS 'what it was promoted from, which its readers may not know';

CREATE TABLE portico.debate_note (
    space_id        uuid        NOT NULL,
    debate_id       uuid        NOT NULL,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 1000),
    place           integer     NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    kind            text        NOT NULL,
    voice           text,
    round           integer     NOT NULL,
    body            json        NOT NULL CHECK (json_typeof(body) = 'object'),
    tokens          bigint      NOT NULL DEFAULT 0,
    money           numeric     NOT NULL DEFAULT 0,
    time            interval    NOT NULL DEFAULT '0',
    calls           integer     NOT NULL DEFAULT 0,
    prompt_tokens   bigint      NOT NULL DEFAULT 0,
    output_tokens   bigint      NOT NULL DEFAULT 0,
    overrun         bigint      NOT NULL DEFAULT 0,
    at              timestamptz NOT NULL,
    PRIMARY KEY (space_id, debate_id, name),
    UNIQUE (space_id, debate_id, place),
    FOREIGN KEY (space_id, debate_id) REFERENCES portico.debate ON DELETE CASCADE
);
COMMENT ON TABLE portico.debate_note IS 'only ever added to: a debate is what its notes say';

CREATE TABLE portico.debate_seat (
    space_id        uuid        NOT NULL,
    debate_id       uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    place           integer     NOT NULL,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 300),
    voice           json        NOT NULL CHECK (json_typeof(voice) = 'object'),
    PRIMARY KEY (space_id, debate_id, principal_id),
    UNIQUE (space_id, debate_id, name),
    FOREIGN KEY (space_id, debate_id) REFERENCES portico.debate ON DELETE CASCADE,
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE
);

CREATE TABLE portico.debate_question (
    space_id        uuid        NOT NULL,
    debate_id       uuid        NOT NULL,
    key             text        NOT NULL CHECK (length(key) BETWEEN 1 AND 1000),
    principal_id    uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    place           integer     NOT NULL,
    asked           json        NOT NULL CHECK (json_typeof(asked) = 'object'),
    answer          json        CHECK (json_typeof(answer) = 'object'),
    PRIMARY KEY (space_id, debate_id, key),
    FOREIGN KEY (space_id, debate_id, principal_id) REFERENCES portico.debate_seat ON DELETE CASCADE
);
COMMENT ON TABLE portico.debate_question IS 'what guests are asked; the first answer stays';

CREATE TABLE portico.debate_outcome (
    space_id        uuid        NOT NULL,
    debate_id       uuid        NOT NULL,
    number          integer     NOT NULL CHECK (number >= 1),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    right_answer    json        NOT NULL,
    shown           json        NOT NULL,
    decided_right   boolean     NOT NULL,
    source          text        NOT NULL,
    note            text        NOT NULL,
    marked_by       uuid        NOT NULL,
    at              timestamptz NOT NULL,
    PRIMARY KEY (space_id, debate_id, number),
    FOREIGN KEY (space_id, debate_id) REFERENCES portico.debate ON DELETE CASCADE
);
CREATE INDEX debate_outcome_newest ON portico.debate_outcome (space_id, at);
COMMENT ON COLUMN portico.debate_outcome.right_answer IS 'what it is counted as, or null';
COMMENT ON COLUMN portico.debate_outcome.shown IS 'the same as people read it, or null';

CREATE TABLE portico.debate_persona (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    name            text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    instructions    text        NOT NULL,
    specialist      boolean     NOT NULL,
    made_by         uuid,
    changed_at      timestamptz,
    PRIMARY KEY (space_id, name)
);
COMMENT ON TABLE portico.debate_persona IS 'for everybody in the space, and so public';

CREATE TABLE portico.debate_reservation (
    space_id        uuid        NOT NULL,
    debate_id       uuid        NOT NULL,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 1000),
    whole_id        uuid        NOT NULL,
    project_id      uuid,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    tokens          bigint      NOT NULL CHECK (tokens >= 0),
    money           numeric     NOT NULL CHECK (money >= 0),
    time            interval    NOT NULL CHECK (time >= interval '0'),
    calls           integer     NOT NULL CHECK (calls >= 0),
    settled         boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (space_id, debate_id, name),
    FOREIGN KEY (space_id, debate_id) REFERENCES portico.debate ON DELETE CASCADE
);
CREATE INDEX debate_reservation_of_whole ON portico.debate_reservation (space_id, whole_id);
COMMENT ON COLUMN portico.debate_reservation.whole_id IS 'the analysis that it is a part of, or itself';
COMMENT ON COLUMN portico.debate_reservation.level IS
    'what it was charged as: as secret as its debate was then';

CREATE TABLE portico.debate_cap (
    space_id        uuid        NOT NULL,
    project_id      uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    tokens          bigint      CHECK (tokens >= 0),
    money           numeric     CHECK (money >= 0),
    PRIMARY KEY (space_id, project_id),
    FOREIGN KEY (space_id, project_id) REFERENCES portico.project ON DELETE CASCADE
);
COMMENT ON TABLE portico.debate_cap IS 'what the debates of a project may spend; NULL is no limit';

-- By label: a debate is held against what those who may read it can know of, else a refusal would tell of
-- hidden debates. It stays when debates are deleted: spent is spent.
CREATE TABLE portico.debate_spending (
    space_id        uuid        NOT NULL,
    project_id      uuid        NOT NULL,
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    tokens          bigint      NOT NULL,
    money           numeric     NOT NULL,
    time            interval    NOT NULL,
    calls           bigint      NOT NULL,
    PRIMARY KEY (space_id, project_id, level, compartments),
    FOREIGN KEY (space_id, project_id) REFERENCES portico.project ON DELETE CASCADE
);

-- Policies ---------------------------------------------------------------------------------------

-- With the owner's rights, since a policy that queries its own table would recurse.
CREATE FUNCTION portico.own_debate(wanted uuid)
    RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT EXISTS (
            SELECT FROM portico.debate d
             WHERE d.space_id = nullif(current_setting('portico.space', true), '')::uuid
               AND d.debate_id = wanted
               AND d.started_by = nullif(current_setting('portico.principal', true), '')::uuid)
    $$;
REVOKE ALL ON FUNCTION portico.own_debate(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.own_debate(uuid) TO portico_app;

SELECT pg_temp.protect('{debate}', pg_temp.in_space(), pg_temp.cleared(),
    $$CASE WHEN private THEN started_by = (SELECT nullif(current_setting('portico.principal', true), '')::uuid)
           ELSE true END$$);
SELECT pg_temp.protect('{debate_note, debate_outcome, debate_reservation}',
    pg_temp.in_space(), pg_temp.cleared(),
    'EXISTS (SELECT FROM portico.debate d WHERE d.space_id = %1$I.space_id'
    ' AND d.debate_id = %1$I.debate_id)');
SELECT pg_temp.protect('{debate_seat, debate_question}', pg_temp.in_space(), pg_temp.cleared(),
    'CASE WHEN ' || pg_temp.callers_own() || ' THEN true'
    ' ELSE EXISTS (SELECT FROM portico.debate d WHERE d.space_id = %1$I.space_id'
    ' AND d.debate_id = %1$I.debate_id) END');
SELECT pg_temp.protect('{debate_persona}', pg_temp.in_space());
SELECT pg_temp.protect('{debate_cap, debate_spending}', pg_temp.in_space(), pg_temp.cleared());
SELECT pg_temp.forbid_write_down(new => '{debate, debate_outcome, debate_cap, debate_question}',
                                 changed => '{debate, debate_cap}');

-- A debate is started in the caller's own name and within what they may see.
CREATE POLICY in_sight ON portico.debate AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (
    started_by = (SELECT nullif(current_setting('portico.principal', true), '')::uuid)
    AND (part_of IS NULL OR portico.own_debate(part_of))
    AND (project_id IS NULL OR EXISTS (
        SELECT FROM portico.project p
         WHERE p.space_id = debate.space_id AND p.project_id = debate.project_id
           AND p.level <= debate.level AND p.compartments <@ debate.compartments)));
CREATE POLICY own_to_remove ON portico.debate AS RESTRICTIVE FOR DELETE TO portico_app USING (
    started_by = (SELECT nullif(current_setting('portico.principal', true), '')::uuid)
    AND portico.mark_covered(level, compartments));
CREATE POLICY public_to_add ON portico.debate_persona AS RESTRICTIVE FOR INSERT TO portico_app
    WITH CHECK (portico.mark_covered(0::smallint, '{}'));
CREATE POLICY public_to_change ON portico.debate_persona AS RESTRICTIVE FOR UPDATE TO portico_app
    USING (true) WITH CHECK (portico.mark_covered(0::smallint, '{}'));
CREATE POLICY public_to_remove ON portico.debate_persona AS RESTRICTIVE FOR DELETE TO portico_app
    USING (portico.mark_covered(0::smallint, '{}'));

GRANT SELECT (space_id, debate_id, level, compartments, private, untrusted, project_id, part_of, analysis,
              started_by, run_id, context_id, status, question, body, guests, unbounded, cap_tokens,
              cap_money, deadline, started_at, ended_at, decision, tokens, money, time, calls),
      INSERT (space_id, debate_id, level, compartments, private, untrusted, project_id, part_of, analysis,
              started_by, run_id, context_id, status, question, body, guests, unbounded, cap_tokens,
              cap_money, deadline, started_at, ended_at, decision),
      UPDATE (private, status, ended_at, decision, tokens, money, time, calls), DELETE
    ON portico.debate TO portico_app;
GRANT SELECT ON portico.debate_note, portico.debate_seat, portico.debate_reservation,
                portico.debate_spending TO portico_app;
GRANT SELECT, INSERT ON portico.debate_question, portico.debate_outcome TO portico_app;
GRANT SELECT, INSERT, UPDATE (instructions, specialist, made_by, changed_at), DELETE
    ON portico.debate_persona TO portico_app;
GRANT SELECT, INSERT, UPDATE (tokens, money) ON portico.debate_cap TO portico_app;

-- Functions under the lock of a debate -----------------------------------------------------------
-- With the owner's rights, so each checks visibility twice itself: by what the application says that
-- its caller may see (clear_...), and by the settings of the transaction.

-- A debate that the caller may read (`whole`) or join as a guest; no row if neither.
CREATE FUNCTION portico.debate_held(
    wanted uuid, clear_level smallint, clear_compartments text[], clear_private boolean,
    OUT its portico.debate, OUT whole boolean
)
    RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            found_one portico.debate;
        BEGIN
            SELECT d.* INTO found_one FROM portico.debate d
             WHERE d.space_id = here AND d.debate_id = wanted
               AND d.level <= clear_level AND d.compartments <@ clear_compartments
               AND portico.bridge_sees(d.level, d.compartments) FOR UPDATE;
            IF FOUND THEN
                its := found_one;
                whole := (clear_private OR NOT its.private OR its.started_by = me)
                         AND (NOT its.private OR its.started_by = me);
                IF whole OR its.guests > 0 THEN
                    RETURN NEXT;
                END IF;
            END IF;
        END
    $$;
REVOKE ALL ON FUNCTION portico.debate_held(uuid, smallint, text[], boolean) FROM PUBLIC;

-- Appends a note unless one of its name exists, and raises the label of the debate to the note's.
CREATE FUNCTION portico.debate_add_note(
    wanted uuid, its_name text, its_level smallint, its_compartments text[], its_kind text,
    its_voice text, its_round integer, its_body json, its_tokens bigint, its_money numeric,
    its_time interval, its_calls integer, its_prompt bigint, its_output bigint, its_overrun bigint,
    its_at timestamptz, clear_level smallint, clear_compartments text[], clear_private boolean
)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            held record;
            inside portico.debate;
        BEGIN
            SELECT * INTO held FROM portico.debate_held(
                wanted, clear_level, clear_compartments, clear_private) h WHERE h.whole;
            IF NOT FOUND THEN
                RETURN 'not_found';
            END IF;
            inside := held.its;
            PERFORM FROM portico.debate_note n WHERE n.space_id = inside.space_id
               AND n.debate_id = wanted AND n.name = its_name;
            IF FOUND THEN
                RETURN 'there';
            END IF;
            IF NOT (its_level <= clear_level AND its_compartments <@ clear_compartments
                    AND portico.bridge_sees(its_level, its_compartments)) THEN
                RAISE insufficient_privilege USING MESSAGE = 'more secret than its writer may see';
            END IF;
            IF NOT portico.mark_covered(its_level, its_compartments) THEN
                RETURN 'write_down';
            END IF;
            INSERT INTO portico.debate_note (
                space_id, debate_id, name, place, level, compartments, kind, voice, round, body, tokens,
                money, time, calls, prompt_tokens, output_tokens, overrun, at)
            VALUES (
                inside.space_id, wanted, its_name, inside.notes + 1, its_level, its_compartments, its_kind,
                its_voice, its_round, its_body, its_tokens, its_money, its_time, its_calls, its_prompt,
                its_output, its_overrun, its_at);
            UPDATE portico.debate d
               SET notes = d.notes + 1, level = greatest(d.level, its_level),
                   compartments = ARRAY(SELECT DISTINCT unnest(d.compartments || its_compartments) ORDER BY 1)
             WHERE d.space_id = inside.space_id AND d.debate_id = wanted;
            RETURN 'written';
        END
    $$;

-- Takes a seat, while one is free, for a guest who knows the id and is cleared for the debate.
CREATE FUNCTION portico.debate_sit(
    wanted uuid, its_name text, its_voice json, clear_level smallint, clear_compartments text[],
    clear_private boolean
)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            inside portico.debate;
            taken integer;
        BEGIN
            SELECT (h.its).* INTO inside FROM portico.debate_held(
                wanted, clear_level, clear_compartments, clear_private) h;
            IF NOT FOUND THEN
                RETURN 'not_found';
            END IF;
            PERFORM FROM portico.debate_seat s WHERE s.space_id = inside.space_id
               AND s.debate_id = wanted AND s.principal_id = me;
            IF FOUND THEN
                RETURN 'seated';
            END IF;
            IF inside.status <> 'running' THEN
                RETURN 'over';
            END IF;
            SELECT count(*) INTO taken FROM portico.debate_seat s
             WHERE s.space_id = inside.space_id AND s.debate_id = wanted;
            IF taken >= inside.guests THEN
                RETURN 'full';
            END IF;
            IF NOT portico.mark_covered(inside.level, inside.compartments) THEN
                RETURN 'write_down';
            END IF;
            INSERT INTO portico.debate_seat (
                space_id, debate_id, principal_id, level, compartments, place, name, voice)
            VALUES (inside.space_id, wanted, me, inside.level, inside.compartments, taken + 1, its_name, its_voice);
            RETURN 'seated';
        END
    $$;

-- For a guest: the state of the debate, their seat and the oldest open question; and how many guests have
-- joined and questions were answered, which the run waits for.
CREATE FUNCTION portico.debate_chair(
    wanted uuid, clear_level smallint, clear_compartments text[], clear_private boolean
)
    RETURNS TABLE (voice text, body json, deadline timestamptz, status text, level smallint,
                   compartments text[], run_id uuid, turn bigint, key text, asked json)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        #variable_conflict use_column
        DECLARE
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
        BEGIN
            RETURN QUERY
            SELECT s.name, (h.its).body, (h.its).deadline, (h.its).status, (h.its).level,
                   (h.its).compartments, (h.its).run_id,
                   (SELECT count(*) FROM portico.debate_seat every
                     WHERE every.space_id = (h.its).space_id AND every.debate_id = wanted)
                   + (SELECT count(*) FROM portico.debate_question every
                       WHERE every.space_id = (h.its).space_id AND every.debate_id = wanted
                         AND every.answer IS NOT NULL),
                   q.key, q.asked
              FROM portico.debate_held(wanted, clear_level, clear_compartments, clear_private) h
              LEFT JOIN portico.debate_seat s ON s.space_id = (h.its).space_id
                    AND s.debate_id = wanted AND s.principal_id = me
              LEFT JOIN portico.debate_question q ON q.space_id = s.space_id AND q.debate_id = wanted
                    AND q.principal_id = me AND q.answer IS NULL AND (h.its).status = 'running'
                    AND q.level <= clear_level AND q.compartments <@ clear_compartments
                    AND portico.bridge_sees(q.level, q.compartments)
             ORDER BY q.place LIMIT 1;
        END
    $$;

CREATE FUNCTION portico.debate_answer(
    wanted uuid, its_key text, its_answer json, clear_level smallint, clear_compartments text[],
    clear_private boolean
)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            inside portico.debate;
            question portico.debate_question;
        BEGIN
            SELECT (h.its).* INTO inside FROM portico.debate_held(
                wanted, clear_level, clear_compartments, clear_private) h;
            IF NOT FOUND THEN
                RETURN 'not_found';
            END IF;
            PERFORM FROM portico.debate_seat s WHERE s.space_id = inside.space_id
               AND s.debate_id = wanted AND s.principal_id = me;
            IF NOT FOUND THEN
                RETURN 'not_seated';
            END IF;
            IF inside.status <> 'running' THEN
                RETURN 'over';
            END IF;
            SELECT q.* INTO question FROM portico.debate_question q
             WHERE q.space_id = inside.space_id AND q.debate_id = wanted AND q.key = its_key
               AND q.principal_id = me;
            IF NOT FOUND THEN
                RETURN 'nothing';
            END IF;
            IF question.answer IS NOT NULL THEN
                RETURN 'answered';
            END IF;
            IF NOT portico.mark_covered(inside.level, inside.compartments) THEN
                RETURN 'write_down';
            END IF;
            UPDATE portico.debate_question q SET answer = its_answer
             WHERE q.space_id = inside.space_id AND q.debate_id = wanted AND q.key = its_key;
            RETURN 'answered';
        END
    $$;

-- Budget -----------------------------------------------------------------------------------------

-- Reserves, or returns the caps that would be exceeded. One at a time in a debate, and in an analysis with
-- its parts: all of them lock the row of the whole. Spending of a project is counted with the label of
-- the debate, raised to what its context has read.
CREATE FUNCTION portico.debate_reserve(
    wanted uuid, its_name text, its_tokens bigint, its_money numeric, its_time interval,
    its_calls integer, clear_level smallint, clear_compartments text[], clear_private boolean
)
    RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        #variable_conflict use_column
        DECLARE
            here uuid := nullif(current_setting('portico.space', true), '')::uuid;
            over text[] := '{}';
            its portico.debate;
            whole portico.debate;
            mark record;
            as_level smallint;
            as_compartments text[];
            used record;
            cap record;
        BEGIN
            SELECT w.* INTO whole FROM portico.debate d
              JOIN portico.debate w ON w.space_id = here AND w.debate_id = coalesce(d.part_of, d.debate_id)
             WHERE d.space_id = here AND d.debate_id = wanted FOR UPDATE OF w;
            SELECT (h.its).* INTO its FROM portico.debate_held(
                wanted, clear_level, clear_compartments, clear_private) h WHERE h.whole;
            IF NOT FOUND THEN
                RETURN NULL;
            END IF;
            PERFORM FROM portico.debate_reservation r
              WHERE r.space_id = here AND r.debate_id = wanted AND r.name = its_name;
            IF FOUND THEN
                RETURN over;
            END IF;
            SELECT coalesce(sum(r.tokens) FILTER (WHERE r.debate_id = wanted), 0) + its_tokens AS tokens,
                   coalesce(sum(r.money) FILTER (WHERE r.debate_id = wanted), 0) + its_money AS money,
                   coalesce(sum(r.tokens), 0) + its_tokens AS all_tokens,
                   coalesce(sum(r.money), 0) + its_money AS all_money
              INTO used FROM portico.debate_reservation r
             WHERE r.space_id = here AND r.whole_id = whole.debate_id;
            IF whole.analysis THEN
                over := over || array_remove(ARRAY[
                    CASE WHEN used.all_tokens > whole.cap_tokens THEN 'analysis.tokens' END,
                    CASE WHEN used.all_money > whole.cap_money THEN 'analysis.money' END], NULL);
            END IF;
            IF NOT its.analysis THEN
                over := array_remove(ARRAY[
                    CASE WHEN used.tokens > its.cap_tokens THEN 'debate.tokens' END,
                    CASE WHEN used.money > its.cap_money THEN 'debate.money' END], NULL) || over;
            END IF;
            SELECT t.level, t.compartments INTO mark FROM portico.taint_context t
             WHERE t.space_id = here
               AND t.context_id = nullif(current_setting('portico.context', true), '')::uuid;
            as_level := greatest(its.level, mark.level);
            as_compartments := ARRAY(
                SELECT DISTINCT unnest(its.compartments || coalesce(mark.compartments, '{}')) ORDER BY 1);
            IF its.project_id IS NOT NULL THEN
                PERFORM pg_advisory_xact_lock(hashtextextended(concat('portico debates of ', here, its.project_id), 0));
                SELECT c.tokens, c.money INTO cap FROM portico.debate_cap c
                 WHERE c.space_id = here AND c.project_id = its.project_id;
                IF FOUND THEN
                    SELECT coalesce(sum(s.tokens), 0) + its_tokens AS tokens,
                           coalesce(sum(s.money), 0) + its_money AS money
                      INTO used FROM portico.debate_spending s
                     WHERE s.space_id = here AND s.project_id = its.project_id
                       AND s.level <= as_level AND s.compartments <@ as_compartments;
                    over := over || array_remove(ARRAY[
                        CASE WHEN used.tokens > cap.tokens THEN 'project.tokens' END,
                        CASE WHEN used.money > cap.money THEN 'project.money' END], NULL);
                END IF;
            END IF;
            IF over <> '{}' THEN
                RETURN over;
            END IF;
            INSERT INTO portico.debate_reservation (
                space_id, debate_id, name, whole_id, project_id, level, compartments, tokens, money, time, calls)
            VALUES (here, wanted, its_name, whole.debate_id, its.project_id, as_level, as_compartments,
                    its_tokens, its_money, its_time, its_calls);
            IF its.project_id IS NOT NULL THEN
                INSERT INTO portico.debate_spending AS s (
                    space_id, project_id, level, compartments, tokens, money, time, calls)
                VALUES (here, its.project_id, as_level, as_compartments, its_tokens, its_money, its_time, its_calls)
                ON CONFLICT (space_id, project_id, level, compartments) DO UPDATE
                   SET tokens = s.tokens + its_tokens, money = s.money + its_money,
                       time = s.time + its_time, calls = s.calls + its_calls;
            END IF;
            RETURN over;
        END
    $$;

-- Settles a reservation: at most what was reserved, except where unbounded debaters were allowed.
CREATE FUNCTION portico.debate_settle(
    wanted uuid, its_name text, its_tokens bigint, its_money numeric, its_time interval,
    its_calls integer, clear_level smallint, clear_compartments text[], clear_private boolean
)
    RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            its portico.debate;
            was portico.debate_reservation;
            came portico.debate_reservation;
        BEGIN
            SELECT (h.its).* INTO its FROM portico.debate_held(
                wanted, clear_level, clear_compartments, clear_private) h WHERE h.whole;
            IF NOT FOUND THEN
                RETURN false;
            END IF;
            SELECT r.* INTO was FROM portico.debate_reservation r
             WHERE r.space_id = its.space_id AND r.debate_id = wanted AND r.name = its_name
               AND NOT r.settled FOR UPDATE;
            IF NOT FOUND THEN
                RETURN true;
            END IF;
            UPDATE portico.debate_reservation r
               SET settled = true,
                   tokens = CASE WHEN its.unbounded THEN its_tokens ELSE least(r.tokens, its_tokens) END,
                   money = CASE WHEN its.unbounded THEN its_money ELSE least(r.money, its_money) END,
                   time = its_time,
                   calls = CASE WHEN its.unbounded THEN its_calls ELSE least(r.calls, its_calls) END
             WHERE r.space_id = its.space_id AND r.debate_id = wanted AND r.name = its_name
            RETURNING * INTO came;
            UPDATE portico.debate_spending s
               SET tokens = s.tokens + came.tokens - was.tokens, money = s.money + came.money - was.money,
                   time = s.time + came.time - was.time, calls = s.calls + came.calls - was.calls
             WHERE s.space_id = its.space_id AND s.project_id = was.project_id
               AND s.level = was.level AND s.compartments = was.compartments;
            RETURN true;
        END
    $$;

-- Promotion --------------------------------------------------------------------------------------
-- As for messages: the only way to write below what was read, a copy of exactly what a person has
-- approved, who is not the requester. The approval is bound to the debate with its current label, to the
-- label of the copy, and to its content; it is used up in the same transaction.

CREATE FUNCTION portico.debate_promote(
    its_record uuid, its_approval uuid, its_source uuid, its_copy uuid, to_level smallint,
    to_compartments text[], its_content text, its_rules text[], its_signature text, its_at timestamptz,
    clear_level smallint, clear_compartments text[], clear_private boolean
)
    RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DECLARE
            me uuid := nullif(current_setting('portico.principal', true), '')::uuid;
            words text := encode(sha256(convert_to(its_content, 'UTF8')), 'hex');
            content json := its_content::json;
            was portico.debate;
            yes record;
        BEGIN
            SELECT (h.its).* INTO was FROM portico.debate_held(
                its_source, clear_level, clear_compartments, clear_private) h
             WHERE h.whole AND to_level <= (h.its).level AND to_compartments <@ (h.its).compartments;
            IF NOT FOUND THEN
                RETURN 'not_approved';
            END IF;
            SELECT a.answered_by INTO yes
              FROM portico.approval a JOIN portico.principal p
                ON p.space_id = a.space_id AND p.principal_id = a.answered_by AND p.kind = 'person'
             WHERE a.space_id = was.space_id AND a.approval_id = its_approval AND a.action = 'declassify'
               AND a.status = 'approved' AND a.claimed_at IS NOT NULL AND a.outcome IS NULL
               AND a.principal_id = me AND a.answered_by <> me
               AND was.level <= a.level AND was.compartments <@ a.compartments
               AND a.pin = concat_ws(' ', its_source,
                    was.level || ':' || array_to_string(ARRAY(
                        SELECT unnest(was.compartments) COLLATE "C" ORDER BY 1), ','),
                    to_level || ':' || array_to_string(ARRAY(
                        SELECT unnest(to_compartments) COLLATE "C" ORDER BY 1), ','),
                    words);
            IF NOT FOUND OR EXISTS (
                SELECT FROM portico.project p WHERE p.space_id = was.space_id AND p.project_id = was.project_id
                   AND NOT (p.level <= to_level AND p.compartments <@ to_compartments)) THEN
                RETURN 'not_approved';
            END IF;
            INSERT INTO portico.debate (
                space_id, debate_id, level, compartments, private, untrusted, project_id, analysis,
                started_by, run_id, status, question, body, guests, unbounded, deadline, started_at,
                ended_at, decision, notes, copy_of)
            VALUES (
                was.space_id, its_copy, to_level, to_compartments, false, was.untrusted, was.project_id,
                was.analysis, me, its_copy, was.status, content #>> '{body,question,text}',
                content -> 'body', 0, false, was.deadline, was.started_at, was.ended_at,
                (content ->> 'decision')::json, json_array_length(content -> 'notes'), its_source);
            INSERT INTO portico.debate_note (
                space_id, debate_id, name, place, level, compartments, kind, voice, round, body, at)
            SELECT was.space_id, its_copy, n ->> 'name', place, to_level, to_compartments, n ->> 'kind',
                   n ->> 'voice', (n ->> 'round')::integer, n -> 'body', (n ->> 'at')::timestamptz
              FROM json_array_elements(content -> 'notes') WITH ORDINALITY AS each (n, place);
            INSERT INTO portico.declassification (
                space_id, record_id, level, compartments, source_id, copy_id, after_level,
                after_compartments, rules, asked_by, approved_by, approval_id, at, digest, signature)
            VALUES (
                was.space_id, its_record, was.level, was.compartments, its_source, its_copy, to_level,
                to_compartments, its_rules, me, yes.answered_by, its_approval, its_at, words, its_signature);
            RETURN 'promoted';
        END
    $$;

-- Removal, and rights ----------------------------------------------------------------------------

-- Deletes debates that ended that long ago, with their parts, unless a part is still running.
CREATE FUNCTION portico.debate_forget(older_than interval, most integer)
    RETURNS TABLE (space_id uuid, debate_id uuid)
    LANGUAGE sql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        WITH old AS (
            SELECT d.space_id, d.debate_id FROM portico.debate d
             WHERE d.ended_at < now() - older_than AND d.part_of IS NULL
               AND NOT EXISTS (SELECT FROM portico.debate p
                                WHERE p.space_id = d.space_id AND p.part_of = d.debate_id
                                  AND p.ended_at IS NULL)
             LIMIT most
        ), gone AS (
            SELECT d.space_id, d.debate_id FROM portico.debate d
              JOIN old o ON o.space_id = d.space_id AND o.debate_id IN (d.debate_id, d.part_of)
        ), dropped AS (
            DELETE FROM portico.debate d USING old o
             WHERE d.space_id = o.space_id AND d.debate_id = o.debate_id
        )
        SELECT g.space_id, g.debate_id FROM gone g
    $$;

-- Deletes the event topic of a debate, when its starter deletes it.
CREATE FUNCTION portico.debate_hush(wanted uuid, its_topic text)
    RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DELETE FROM portico.stream s
         WHERE s.space_id = nullif(current_setting('portico.space', true), '')::uuid
           AND s.topic = its_topic AND its_topic LIKE '~debate:%' AND portico.own_debate(wanted)
    $$;

REVOKE ALL ON FUNCTION
    portico.debate_add_note, portico.debate_sit, portico.debate_chair, portico.debate_answer,
    portico.debate_reserve, portico.debate_settle, portico.debate_promote,
    portico.debate_forget, portico.debate_hush
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    portico.debate_add_note, portico.debate_sit, portico.debate_chair, portico.debate_answer,
    portico.debate_reserve, portico.debate_settle, portico.debate_promote, portico.debate_hush
    TO portico_app;
GRANT EXECUTE ON FUNCTION portico.debate_forget TO portico_engine;


DROP FUNCTION pg_temp.forbid_write_down, pg_temp.open_to_engine, pg_temp.protect, pg_temp.cleared,
    pg_temp.callers_own, pg_temp.in_space;
