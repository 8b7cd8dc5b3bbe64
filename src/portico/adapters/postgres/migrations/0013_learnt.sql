-- What is learnt from the results of tools: how they look, of keys and types alone, and which of
-- them became whose arguments. No value is here.
--
-- As of a server and its tools, no wall of these tables looks at labels: what is told of them is
-- told together with the tool that it is about, and to whoever may know of that one.

-- Of the definition that `pin` is of; with another one it is learnt anew.
CREATE TABLE portico.tool_shape (
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

DO $walls$
DECLARE
    walled text;
    wall text := $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)$$;
BEGIN
    FOREACH walled IN ARRAY ARRAY['tool_shape', 'tool_flow'] LOOP
        EXECUTE format('ALTER TABLE portico.%I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE portico.%I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format('CREATE POLICY space_wall ON portico.%I USING (%s) WITH CHECK (%s)', walled, wall, wall);
        EXECUTE format('CREATE POLICY owner_door ON portico.%I TO portico_owner USING (true) WITH CHECK (true)', walled);
    END LOOP;
END
$walls$;

GRANT SELECT, INSERT, UPDATE (pin, seen, shape) ON portico.tool_shape TO portico_app;
GRANT SELECT, INSERT, UPDATE (times) ON portico.tool_flow TO portico_app;
