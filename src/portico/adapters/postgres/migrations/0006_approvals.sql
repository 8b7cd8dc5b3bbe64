-- Requests to be allowed one thing once: who asks for what, what was answered, what came of it.
--
-- The wall looks at the label too: whoever is not cleared for what had been read in the task does
-- not have the request. Arguments are here twice: without secrets, for people, and sealed, for the
-- call itself; the sealed ones go as soon as no call can be made with them any more.

CREATE TABLE portico.approval (
    space_id        uuid        NOT NULL,
    approval_id     uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    asker           text        NOT NULL,
    asker_kind      text        NOT NULL CHECK (asker_kind IN ('person', 'agent', 'worker')),
    key_id          text,
    named_context   uuid,
    context_id      uuid        NOT NULL,
    action          text        NOT NULL,
    tool            text        NOT NULL,
    server          text        NOT NULL,
    effect          text        NOT NULL,
    pin             text        NOT NULL,
    launch          text        NOT NULL,
    hash            text        NOT NULL CHECK (length(hash) = 64),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL DEFAULT '{}',
    tainted         boolean     NOT NULL,
    arguments       json        NOT NULL,
    sealed          bytea       NOT NULL,
    marks           json        NOT NULL,
    before          json        NOT NULL,
    rule            text        NOT NULL,
    reason          text        NOT NULL,
    asked_at        timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    run_id          uuid        NOT NULL,
    status          text        NOT NULL CHECK (status IN
        ('waiting', 'approved', 'rejected', 'expired', 'replaced', 'withdrawn')),
    answer          text        CHECK (answer IN ('once', 'run', 'always', 'reject')),
    answered_by     uuid,
    answerer        text,
    answered_via    text,
    answered_at     timestamptz,
    answer_reason   text        CHECK (length(answer_reason) <= 2000),
    rule_made       text,
    replaces        uuid,
    replaced_by     uuid,
    claimed_at      timestamptz,
    outcome         text        CHECK (outcome IN ('done', 'failed', 'uncertain', 'skipped')),
    ended_at        timestamptz,
    error           text,
    result          text,
    collected_at    timestamptz,
    resolved_by     text,
    PRIMARY KEY (space_id, approval_id),
    FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal ON DELETE CASCADE,
    CHECK (status <> 'approved' OR answer IN ('once', 'run', 'always')),
    CHECK (claimed_at IS NULL OR status = 'approved'),
    CHECK (outcome IS NULL OR claimed_at IS NOT NULL)
);

-- Of the same call in the same task one request is open at a time.
CREATE UNIQUE INDEX approval_open ON portico.approval (space_id, principal_id, context_id, hash)
    WHERE status IN ('waiting', 'approved') AND collected_at IS NULL
      AND (outcome IS NULL OR outcome = 'uncertain');
CREATE INDEX approval_by_call
    ON portico.approval (space_id, principal_id, context_id, hash, approval_id);

CREATE INDEX approval_waiting ON portico.approval (space_id, principal_id)
    WHERE status = 'waiting';
CREATE INDEX approval_by_age ON portico.approval (asked_at);

ALTER TABLE portico.approval ENABLE ROW LEVEL SECURITY;
ALTER TABLE portico.approval FORCE ROW LEVEL SECURITY;
DO $walls$
DECLARE
    wall text := $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)
        AND level <= (SELECT coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint)
        AND compartments <@ (SELECT string_to_array(coalesce(current_setting('portico.compartments', true), ''), ','))$$;
BEGIN
    EXECUTE format('CREATE POLICY space_wall ON portico.approval USING (%s) WITH CHECK (%s)', wall, wall);
END
$walls$;
CREATE POLICY owner_door ON portico.approval TO portico_owner USING (true) WITH CHECK (true);
CREATE POLICY engine_door ON portico.approval TO portico_engine USING (true) WITH CHECK (true);

-- What was asked never changes.
GRANT SELECT, INSERT,
      UPDATE (sealed, expires_at, status, answer, answered_by, answerer, answered_via, answered_at,
              answer_reason, rule_made, replaced_by, claimed_at, outcome, ended_at, error, result,
              collected_at, resolved_by) ON portico.approval TO portico_app;

-- Whose word it is when the program with this key passes on what its user has answered; nobody's,
-- until an operator says so.
ALTER TABLE portico.api_key ADD COLUMN elicits_for uuid;
ALTER TABLE portico.api_key ADD FOREIGN KEY (space_id, elicits_for)
    REFERENCES portico.principal ON DELETE SET NULL (elicits_for);
GRANT SELECT (elicits_for), UPDATE (elicits_for) ON portico.api_key TO portico_app;
GRANT SELECT (space_id, approval_id, asked_at, outcome), DELETE ON portico.approval
    TO portico_engine;
