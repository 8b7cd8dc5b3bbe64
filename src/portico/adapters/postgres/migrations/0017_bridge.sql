-- The bridge: projects, conversations and what is said in them, who has read how far, what a
-- project remembers, attachments, leases, work, and who is there.
--
-- Two walls: every statement asks for what its caller may see, and every table lets nobody see
-- more. What must be counted over all labels (places, counters) is in columns that the application
-- has no right to, and is handed out by functions that count what their caller may see.

-- 1. Labels, by number. ---------------------------------------------------------------------------
-- Counters are arrays with a place for each label that is in use. Numbers never leave.

CREATE TABLE portico.bridge_label (
    space_id        uuid        NOT NULL REFERENCES portico.space ON DELETE CASCADE,
    number          smallint    NOT NULL CHECK (number >= 1),
    level           smallint    NOT NULL CHECK (level BETWEEN 0 AND 3),
    compartments    text[]      NOT NULL,
    PRIMARY KEY (space_id, number),
    UNIQUE (space_id, level, compartments)
);

-- 2. Projects and conversations. ------------------------------------------------------------------

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
-- The same name again for those who cannot know of the first: only within a label it is one.
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

-- 3. Messages. ------------------------------------------------------------------------------------

-- What the words of a text are looked up by: each for itself in each label of each space, so that one
-- which is rare among what a reader may see is found at once, however common it is elsewhere.
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
-- Not unique: what its sender sent with the same key and may not see now is not there for them.
CREATE INDEX message_by_key ON portico.message (space_id, sender, key) WHERE key IS NOT NULL;
-- Label by label: whoever reads on does not go through what is hidden from them.
CREATE INDEX message_by_label ON portico.message (space_id, conversation_id, label, seq);
CREATE INDEX message_by_thread ON portico.message (space_id, thread, label, seq) WHERE thread IS NOT NULL;
CREATE INDEX message_newest ON portico.message (space_id, sent_at, message_id);
CREATE INDEX message_to_acknowledge ON portico.message (space_id, acknowledge_by)
    WHERE owing <> '{}' AND deleted_at IS NULL;
CREATE INDEX message_attachments ON portico.message USING gin (attachments) WHERE attachments <> '{}';
-- What was said a moment ago is looked through one by one until there is enough of it to be sorted
-- in: with little of it both are quick.
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

-- What messages mean, as vectors. Of each label that has many there is a graph of its own, which is
-- made when it has: in one graph over all of them, what is hidden would change what is found.
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

CREATE TABLE portico.vector_reach (
    space_id        uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    model           text        NOT NULL,
    seq             bigint      NOT NULL,
    PRIMARY KEY (space_id, conversation_id),
    FOREIGN KEY (space_id, conversation_id) REFERENCES portico.conversation ON DELETE CASCADE
);
COMMENT ON TABLE portico.vector_reach IS 'every message up to there has its vector by this model';

-- 4. Who takes part, and how far each has read. ---------------------------------------------------

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
    'messages after last_seq that are not deleted and count as read: their own, and read_apart; by number of label';

-- Read although something before it is not. What one has said oneself is, and has no row here.
CREATE TABLE portico.read_apart (
    space_id        uuid        NOT NULL,
    principal_id    uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    seq             bigint      NOT NULL,
    label           smallint    NOT NULL,
    PRIMARY KEY (space_id, principal_id, conversation_id, seq),
    FOREIGN KEY (space_id, principal_id, conversation_id) REFERENCES portico.participant ON DELETE CASCADE
);
CREATE INDEX read_apart_by_message ON portico.read_apart (space_id, conversation_id, seq);

-- Whom a message names or is addressed to, for those who take part and have not read it.
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

-- 5. What a project remembers; attachments; leases; work; presence. -------------------------------

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

CREATE TABLE portico.work (
    space_id        uuid        NOT NULL,
    work_id         uuid        NOT NULL,
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
    PRIMARY KEY (space_id, work_id),
    FOREIGN KEY (space_id, project_id) REFERENCES portico.project ON DELETE CASCADE,
    FOREIGN KEY (space_id, claimed_by) REFERENCES portico.principal ON DELETE SET NULL (claimed_by)
);
-- Only within a label: what its maker may not see any more does not tell that it is there.
CREATE UNIQUE INDEX work_key ON portico.work (space_id, made_by, key, level, compartments)
    WHERE key IS NOT NULL;
CREATE INDEX work_of_project ON portico.work (space_id, project_id, work_id);

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

-- 6. The walls. -----------------------------------------------------------------------------------
-- A task is known by what its application says; what it has read is in its row, and whoever has
-- none says nothing on the bridge.

CREATE FUNCTION portico.mark_covered(its_level smallint, its_compartments text[])
    RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT NOT EXISTS (
            SELECT FROM portico.task_context t
             WHERE t.space_id = nullif(current_setting('portico.space', true), '')::uuid
               AND t.context_id = nullif(current_setting('portico.context', true), '')::uuid
               AND NOT (t.level <= its_level AND t.compartments <@ its_compartments))
           AND nullif(current_setting('portico.context', true), '') IS NOT NULL
    $$;
REVOKE ALL ON FUNCTION portico.mark_covered(smallint, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION portico.mark_covered(smallint, text[]) TO portico_app;

-- As the owner, since the wall of one table cannot ask another that asks it.
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

DO $walls$
DECLARE
    walled text;
    here text := $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)$$;
    me text := $$principal_id = (SELECT nullif(current_setting('portico.principal', true), '')::uuid)$$;
    cleared text := $$level <= (SELECT coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint)
        AND compartments <@ (SELECT string_to_array(coalesce(current_setting('portico.compartments', true), ''), ','))$$;
    inside text := $$CASE WHEN closed THEN conversation_id = ANY ((SELECT portico.own_conversations())::uuid[]) ELSE true END$$;
    labels text := $$label = ANY (ARRAY(SELECT l.number FROM portico.bridge_label l))$$;
    wall text := here || ' AND ' || cleared;
    rule text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['bridge_label', 'project', 'conversation', 'message',
            'message_version', 'message_ack', 'message_vector', 'vector_reach', 'participant',
            'read_apart', 'mention', 'memory', 'attachment', 'lease', 'work', 'presence',
            'declassification'] LOOP
        rule := CASE
            WHEN walled IN ('conversation', 'message', 'message_vector') THEN wall || ' AND ' || inside
            -- Who takes part is there for those who may see the conversation; how far somebody has
            -- read is in columns that nobody is given.
            WHEN walled IN ('participant', 'vector_reach') THEN here || format(
                ' AND EXISTS (SELECT FROM portico.conversation c WHERE c.space_id = %1$I.space_id'
                ' AND c.conversation_id = %1$I.conversation_id)', walled)
            -- What a message was, and who has it, is there for those who may see the message.
            WHEN walled IN ('message_version', 'message_ack') THEN wall || format(
                ' AND EXISTS (SELECT FROM portico.message m WHERE m.space_id = %1$I.space_id'
                ' AND m.message_id = %1$I.message_id)', walled)
            WHEN walled IN ('read_apart', 'mention') THEN here || ' AND ' || me || ' AND ' || labels
            ELSE wall END;
        EXECUTE format('ALTER TABLE portico.%I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE portico.%I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format('CREATE POLICY owner_door ON portico.%I TO portico_owner USING (true) WITH CHECK (true)', walled);
        EXECUTE format('CREATE POLICY space_wall ON portico.%I USING (%s) WITH CHECK (%s)', walled, rule, rule);
    END LOOP;
    -- Nothing is written that is less secret than what was read in the task that writes it.
    FOREACH walled IN ARRAY ARRAY['project', 'memory', 'attachment', 'lease', 'work', 'presence'] LOOP
        EXECUTE format('CREATE POLICY no_write_down ON portico.%I AS RESTRICTIVE FOR INSERT TO portico_app '
                       'WITH CHECK (portico.mark_covered(level, compartments))', walled);
    END LOOP;
    FOREACH walled IN ARRAY ARRAY['project', 'conversation'] LOOP
        EXECUTE format('CREATE POLICY no_change_down ON portico.%I AS RESTRICTIVE FOR UPDATE TO portico_app '
                       'USING (true) WITH CHECK (portico.mark_covered(level, compartments))', walled);
    END LOOP;
END
$walls$;

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
GRANT SELECT (space_id) ON portico.message_vector, portico.vector_reach, portico.read_apart, portico.mention TO portico_app;
GRANT SELECT (space_id, conversation_id, principal_id, joined_at, muted), UPDATE (muted), DELETE
    ON portico.participant TO portico_app;
GRANT SELECT, INSERT ON portico.memory, portico.attachment TO portico_app;
GRANT SELECT, INSERT, DELETE, UPDATE (expires_at, token) ON portico.lease TO portico_app;
GRANT SELECT, INSERT, UPDATE (state, claimed_by, token, outcome, untrusted, changed_at)
    ON portico.work TO portico_app;
GRANT SELECT, INSERT, DELETE, UPDATE (doing, note, until) ON portico.presence TO portico_app;

-- 7. What goes over all labels, done for whoever asks. ----------------------------------------------
-- Each of these looks with the owner's eyes, so each has both walls in it: what the application
-- says that its caller may see (clear_...), and what the transaction says (bridge_sees,
-- own_conversations).

CREATE FUNCTION portico.bridge_sees(its_level smallint, its_compartments text[])
    RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
        SELECT its_level <= coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint
           AND its_compartments <@ string_to_array(coalesce(current_setting('portico.compartments', true), ''), ',')
    $$;

-- Whether the caller may see a conversation: the first wall, which looks for itself.
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

-- None if a space has as many as it can have: each counter has a place for each of them.
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

-- A new conversation, in which its maker takes part.
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

-- At the end of its conversation, under the lock of its row: numbers have no gaps, and whoever
-- reads after one has missed none before it. Whoever says something in an open one takes part in it.
-- Without a level it is as secret as it has to be: as its conversation, and what its task has read.
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
              LEFT JOIN portico.task_context t ON t.space_id = here AND t.context_id = task
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

-- What it said is kept beside it. Its label only rises here; whoever has passed it is told nothing
-- new, and whoever may not read it any more does not find it.
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
                    DELETE FROM portico.read_apart r WHERE r.space_id = here
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
                    UPDATE portico.read_apart r SET label = to_label WHERE r.space_id = here
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

-- As secret as what is acknowledged, and once.
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

-- From now on: what was said before counts as read.
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

-- How far the caller has read; never back. What is counted is what came in between, however secret:
-- they would be past it, too, were they cleared for it one day. `partly`: only what is no more
-- secret than what they want to see; then they are past nothing that they have not seen.
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
                   AND NOT EXISTS (SELECT FROM portico.read_apart r
                                    WHERE r.space_id = here AND r.principal_id = me
                                      AND r.conversation_id = wanted AND r.seq = m.seq);
                FOR passed IN
                    WITH put AS (
                        INSERT INTO portico.read_apart (space_id, principal_id, conversation_id, seq, label)
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
                    DELETE FROM portico.read_apart r WHERE r.space_id = here AND r.principal_id = me
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
            INSERT INTO portico.read_apart (space_id, principal_id, conversation_id, seq, label)
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

-- Exactly as many as the caller would find, were they to look for each; with the labels of what was
-- counted, each as its level and its compartments. No message is less secret than its conversation:
-- where there is one for them, they may see that, too. From what they take part in to each of those
-- conversations, however many others there are; with `|| '{}'` an array is unpacked once, not for each
-- of its places.
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

-- When something was last said that the caller may see, in the conversations that they may see.
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

-- Where the next messages are that the caller may see, of a conversation or of a thread in it;
-- `back`: the ones before. Label by label, so that it takes no longer the more is hidden between.
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

-- How secret a conversation is, and where it ends, for this process alone: that is never told.
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

-- Messages that have all of these words, the newest first. Behind a wall no index is asked for words,
-- so it is done as the owner, who looks for them in the labels that the caller may see: what is hidden
-- is not even looked for. A common word is soon found by going back from the newest, a rare one only
-- by its index. Which it is, the newest few tell, more of them the more there are in all: who finds
-- none there takes the index, and whoever finds some goes back as far as that promises enough, unless
-- the index is quicker. Both find the same. Plans are kept, since making one takes as long as a search.
-- What is looked at one by one is asked for the words of its own label alone, as it has no others.
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

-- These, in this order, for whoever may see them: as the caller, behind the wall of the table.
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

-- Those that mean much the same, the nearest first, by the vectors of one model: label by label, so
-- that nothing which is hidden has a part in what is found, nor in whether a graph is asked: where there
-- is one it is, without sorting. What was said in closed conversations is in none, and of a place that
-- is small in its label a graph knows too little: there each is compared.
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

-- What has no vector by this model, or one of what it said before; with what tells whether it says
-- the same when its vector comes.
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
               LEFT JOIN portico.vector_reach r ON r.space_id = c.space_id
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
            INSERT INTO portico.vector_reach AS r (space_id, conversation_id, model, seq)
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
              LEFT JOIN portico.vector_reach b ON b.space_id = here
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

-- Whoever makes vectors has to be cleared for all that was said in a space: for these.
CREATE FUNCTION portico.bridge_compartments()
    RETURNS text[]
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT coalesce(array_agg(DISTINCT its), '{}')
          FROM portico.bridge_label l CROSS JOIN unnest(l.compartments) AS its
         WHERE l.space_id = nullif(current_setting('portico.space', true), '')::uuid
    $$;

DO $rights$
DECLARE
    its regprocedure;
BEGIN
    FOR its IN SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = 'portico'::regnamespace AND p.proname = ANY (ARRAY[
            'bridge_open', 'bridge_send', 'bridge_change', 'bridge_acknowledge', 'bridge_join',
            'bridge_read_to', 'bridge_read_one', 'bridge_unread', 'bridge_active', 'bridge_places', 'bridge_end',
            'bridge_find', 'bridge_messages', 'bridge_near', 'bridge_unembedded', 'bridge_embed', 'bridge_compartments'])
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', its);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO portico_app', its);
    END LOOP;
END
$rights$;

-- For the engine, which is told how much there is and not what: spaces with something that has no
-- vector.
CREATE FUNCTION portico.bridge_spaces_to_embed(its_model text)
    RETURNS TABLE (space_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        SELECT c.space_id FROM portico.conversation c
          LEFT JOIN portico.vector_reach r ON r.space_id = c.space_id
           AND r.conversation_id = c.conversation_id AND r.model = its_model
         WHERE c.last_seq > coalesce(r.seq, 0)
         UNION
        SELECT v.space_id FROM portico.message_vector v WHERE v.stale
    $$;

-- Some of the messages that are older, of one conversation; what is counted stays exact.
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
                    DELETE FROM portico.read_apart r WHERE r.space_id = its.space_id
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

-- Attachments as old, which no message has any more.
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

-- Versions that others have followed so long ago; and what was forgotten or has expired then, once
-- nothing is before it that would come up again.
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

DO $rights$
DECLARE
    its regprocedure;
BEGIN
    FOR its IN SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = 'portico'::regnamespace AND p.proname = ANY (ARRAY[
            'bridge_spaces_to_embed', 'bridge_forget', 'bridge_forget_attachments',
            'bridge_forget_memory'])
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', its);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO portico_engine', its);
    END LOOP;
END
$rights$;

-- 8. Things: leases, and what a project remembers. ------------------------------------------------

-- Who changes a lease, a piece of work or their presence tells others something, too.
CREATE POLICY no_write_down_later ON portico.lease AS RESTRICTIVE FOR UPDATE TO portico_app
    WITH CHECK (portico.mark_covered(level, compartments));
CREATE POLICY no_write_down_later ON portico.work AS RESTRICTIVE FOR UPDATE TO portico_app
    WITH CHECK (portico.mark_covered(level, compartments));
CREATE POLICY no_write_down_later ON portico.presence AS RESTRICTIVE FOR UPDATE TO portico_app
    WITH CHECK (portico.mark_covered(level, compartments));
CREATE POLICY no_write_down_last ON portico.lease AS RESTRICTIVE FOR DELETE TO portico_app
    USING (portico.mark_covered(level, compartments));

-- One more than any that was given in this project: it never goes back, whatever becomes of leases.
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

-- What is remembered now and has all of these words, the newest first.
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

-- 9. Lowering. ------------------------------------------------------------------------------------
-- The one way past the mark: a copy at the end, of exactly the words that a person has said yes to,
-- who is not whoever asked. The yes is bound to the message, as secret as it is now, to where the
-- copy may be read, and to its words; it is used up in the same transaction.

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
