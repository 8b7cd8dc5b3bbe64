-- Debates: what was asked of whom, what each voice said, what was decided and how it turned out,
-- guests and what they are asked, personas, and what it all may cost.
--
-- The walls are the bridge's: nobody sees what is more secret than they may see, and what is written
-- is never less secret than what was read for it. A private debate is there for whoever has started
-- it, and for nobody else; a guest sees their own seat, and what they are asked in it.

-- 1. Tables. --------------------------------------------------------------------------------------

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

-- Label by label: a debate is held against what those could know of who may read it, else a refusal
-- would tell of what is hidden. It stays when debates are removed: spent is spent.
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

-- 2. The walls. -----------------------------------------------------------------------------------

-- As the owner, since the wall of a table cannot ask the table itself.
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

DO $walls$
DECLARE
    walled text;
    here text := $$space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)$$;
    me text := $$(SELECT nullif(current_setting('portico.principal', true), '')::uuid)$$;
    cleared text := $$level <= (SELECT coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint)
        AND compartments <@ (SELECT string_to_array(coalesce(current_setting('portico.compartments', true), ''), ','))$$;
    wall text := here || ' AND ' || cleared;
    inside text := ' EXISTS (SELECT FROM portico.debate d WHERE d.space_id = %1$I.space_id'
                   ' AND d.debate_id = %1$I.debate_id)';
    rule text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['debate', 'debate_note', 'debate_seat', 'debate_question',
            'debate_outcome', 'debate_persona', 'debate_reservation', 'debate_cap',
            'debate_spending'] LOOP
        rule := CASE
            WHEN walled = 'debate' THEN wall || ' AND CASE WHEN private THEN started_by = ' || me || ' ELSE true END'
            WHEN walled IN ('debate_note', 'debate_outcome', 'debate_reservation')
                THEN wall || ' AND' || format(inside, walled)
            WHEN walled IN ('debate_seat', 'debate_question')
                THEN wall || ' AND CASE WHEN principal_id = ' || me || ' THEN true ELSE' || format(inside, walled) || ' END'
            WHEN walled = 'debate_persona' THEN here
            ELSE wall END;
        EXECUTE format('ALTER TABLE portico.%I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE portico.%I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format('CREATE POLICY owner_door ON portico.%I TO portico_owner USING (true) WITH CHECK (true)', walled);
        EXECUTE format('CREATE POLICY space_wall ON portico.%I USING (%s) WITH CHECK (%s)', walled, rule, rule);
    END LOOP;
    -- Nothing is written that is less secret than what was read in the task that writes it.
    FOREACH walled IN ARRAY ARRAY['debate', 'debate_outcome', 'debate_cap', 'debate_question'] LOOP
        EXECUTE format('CREATE POLICY no_write_down ON portico.%I AS RESTRICTIVE FOR INSERT TO portico_app '
                       'WITH CHECK (portico.mark_covered(level, compartments))', walled);
    END LOOP;
    FOREACH walled IN ARRAY ARRAY['debate', 'debate_cap'] LOOP
        EXECUTE format('CREATE POLICY no_change_down ON portico.%I AS RESTRICTIVE FOR UPDATE TO portico_app '
                       'USING (true) WITH CHECK (portico.mark_covered(level, compartments))', walled);
    END LOOP;
END
$walls$;

-- Whoever starts one starts it as themselves, and in what they may see.
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

-- 3. What is done under the lock of a debate, for whoever asks. -------------------------------------
-- Each of these looks with the owner's eyes, so each has both walls in it: what the application
-- says that its caller may see (clear_...), and what the transaction says.

-- One that the caller may read (`whole`), or else may sit in: no row if neither.
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

-- A note at the end, unless one of its name is there; the debate is then as secret as it is.
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

-- A guest sits down. Whoever knows its id and is cleared for it may, while a seat is free.
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

-- What a guest is asked: how the debate is, their voice in it, and the oldest question that waits;
-- and how many have joined and how many questions were answered, which its run waits by.
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

-- 4. What it may cost. ------------------------------------------------------------------------------

-- The caps that would be passed; none, if it is reserved now. One at a time in a debate, and in an
-- analysis with its parts: all of them hold the row of the whole. A project's spending is counted
-- as secret as the debate is, and what its task has read.
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
            SELECT t.level, t.compartments INTO mark FROM portico.task_context t
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

-- What it came to: never more than was reserved, but where voices without a maximum were allowed.
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

-- 5. Promotion. -------------------------------------------------------------------------------------
-- As on the bridge: the one way past the mark, a copy of exactly the words that a person has said yes
-- to, who is not whoever asked. The yes is bound to the debate, as secret as it is now, to where the
-- copy may be read, and to its words; it is used up in the same transaction.

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

-- 6. Rights, and forgetting. ------------------------------------------------------------------------

-- What is over for so long, with its parts; one that is still on is kept.
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

-- What was told of one while somebody followed it, when its starter removes it.
CREATE FUNCTION portico.debate_hush(wanted uuid, its_topic text)
    RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = portico, pg_temp
    AS $$
        DELETE FROM portico.stream s
         WHERE s.space_id = nullif(current_setting('portico.space', true), '')::uuid
           AND s.topic = its_topic AND its_topic LIKE '~debate:%' AND portico.own_debate(wanted)
    $$;

DO $rights$
DECLARE
    its regprocedure;
BEGIN
    FOR its IN SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = 'portico'::regnamespace AND p.proname = ANY (ARRAY[
            'debate_add_note', 'debate_sit', 'debate_chair', 'debate_answer', 'debate_reserve',
            'debate_settle', 'debate_promote', 'debate_forget', 'debate_hush'])
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', its);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', its,
                       CASE WHEN its::text LIKE '%debate_forget%' THEN 'portico_engine' ELSE 'portico_app' END);
    END LOOP;
END
$rights$;
