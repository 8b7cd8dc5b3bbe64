-- Plans that somebody has saved under a name: tools of Portico's own server `workflows`.
-- A plan is kept as it was written, to the last letter, which jsonb would not do.

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

ALTER TABLE portico.saved_workflow ENABLE ROW LEVEL SECURITY;
ALTER TABLE portico.saved_workflow FORCE ROW LEVEL SECURITY;
CREATE POLICY space_wall ON portico.saved_workflow
    USING (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid))
    WITH CHECK (space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid));
CREATE POLICY owner_door ON portico.saved_workflow TO portico_owner USING (true) WITH CHECK (true);

GRANT SELECT, INSERT, DELETE,
      UPDATE (plan, description, effect, saved_by, saved_by_name, changed_at)
    ON portico.saved_workflow TO portico_app;
