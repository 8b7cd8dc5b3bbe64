-- A run that cannot go on without somebody's yes: which one, and what it is told under when the
-- request is over. Its label is kept with it, since whoever answers need not be cleared for the run.
ALTER TABLE portico.approval ADD COLUMN waiter_run uuid;
ALTER TABLE portico.approval ADD COLUMN waiter_topic text
    CHECK (length(waiter_topic) BETWEEN 1 AND 200);
ALTER TABLE portico.approval ADD COLUMN waiter_level smallint
    CHECK (waiter_level BETWEEN 0 AND 3);
ALTER TABLE portico.approval ADD COLUMN waiter_compartments text[];
ALTER TABLE portico.approval ADD CHECK (num_nonnulls(
    waiter_run, waiter_topic, waiter_level, waiter_compartments) IN (0, 4));

-- What a run waits for is its alone: the same call of somebody else is another request.
DROP INDEX portico.approval_open;
CREATE UNIQUE INDEX approval_open ON portico.approval (space_id, principal_id, context_id, hash)
    WHERE status IN ('waiting', 'approved') AND collected_at IS NULL
      AND (outcome IS NULL OR outcome = 'uncertain') AND waiter_run IS NULL;
CREATE UNIQUE INDEX approval_of_waiter ON portico.approval (space_id, waiter_run, waiter_topic)
    WHERE replaces IS NULL AND waiter_run IS NOT NULL;
CREATE INDEX approval_of_run ON portico.approval (space_id, waiter_run)
    WHERE waiter_run IS NOT NULL;

-- Whoever takes a run up again lends it their own name: it goes on with what they may now.
GRANT UPDATE (input, clearance_level, clearance_compartments, scopes) ON portico.run
    TO portico_app;
