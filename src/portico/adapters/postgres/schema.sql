CREATE SCHEMA portico;

ALTER SCHEMA portico OWNER TO portico_owner;

CREATE FUNCTION portico.append_audit(acts text[], OUT number bigint, OUT hash bytea) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.append_audit(acts text[], OUT number bigint, OUT hash bytea) OWNER TO portico_owner;

CREATE FUNCTION portico.append_event(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_topic text, topic_level smallint, topic_compartments text[], its_event uuid, its_type text, its_level smallint, its_compartments text[], its_facts json) RETURNS bigint
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

ALTER FUNCTION portico.append_event(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_topic text, topic_level smallint, topic_compartments text[], its_event uuid, its_type text, its_level smallint, its_compartments text[], its_facts json) OWNER TO portico_owner;

CREATE FUNCTION portico.append_events(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, entries json) RETURNS bigint[]
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

ALTER FUNCTION portico.append_events(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, entries json) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_acknowledge(its_id uuid, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_acknowledge(its_id uuid, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_active(its_project uuid, wanted uuid[], clear_level smallint, clear_compartments text[], clear_closed boolean) RETURNS TABLE(conversation_id uuid, project_id uuid, active_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_active(its_project uuid, wanted uuid[], clear_level smallint, clear_compartments text[], clear_closed boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_change(its_id uuid, its_body text, to_level smallint, to_compartments text[], its_untrusted boolean, gone boolean, others boolean, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_change(its_id uuid, its_body text, to_level smallint, to_compartments text[], its_untrusted boolean, gone boolean, others boolean, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_compartments() RETURNS text[]
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        SELECT coalesce(array_agg(DISTINCT its), '{}')
          FROM portico.bridge_label l CROSS JOIN unnest(l.compartments) AS its
         WHERE l.space_id = nullif(current_setting('portico.space', true), '')::uuid
    $$;

ALTER FUNCTION portico.bridge_compartments() OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_declassify(its_record uuid, its_approval uuid, its_source uuid, its_copy uuid, to_level smallint, to_compartments text[], its_body text, its_sender_name text, its_rules text[], its_signature text, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_declassify(its_record uuid, its_approval uuid, its_source uuid, its_copy uuid, to_level smallint, to_compartments text[], its_body text, its_sender_name text, its_rules text[], its_signature text, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_embed(its_model text, ids uuid[], ats timestamp with time zone[], vectors text[], clear_level smallint, clear_compartments text[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_embed(its_model text, ids uuid[], ats timestamp with time zone[], vectors text[], clear_level smallint, clear_compartments text[]) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_end(wanted uuid, clear_level smallint, clear_compartments text[], clear_closed boolean) RETURNS TABLE(place bigint, level smallint, compartments text[])
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 1
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        SELECT c.last_seq, c.level, c.compartments FROM portico.conversation c
         WHERE c.space_id = nullif(current_setting('portico.space', true), '')::uuid
           AND c.conversation_id = wanted
           AND c.level <= clear_level AND c.compartments <@ clear_compartments
           AND portico.bridge_sees(c.level, c.compartments)
           AND (NOT c.closed OR (clear_closed OR portico.bridge_takes_part(wanted))
                            AND wanted = ANY (portico.own_conversations()))
    $$;

ALTER FUNCTION portico.bridge_end(wanted uuid, clear_level smallint, clear_compartments text[], clear_closed boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_find(words text, its_project uuid, its_conversation uuid, most integer, clear_level smallint, clear_compartments text[], clear_closed boolean, whole_level smallint, whole_compartments text[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
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

ALTER FUNCTION portico.bridge_find(words text, its_project uuid, its_conversation uuid, most integer, clear_level smallint, clear_compartments text[], clear_closed boolean, whole_level smallint, whole_compartments text[]) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_find_memory(words text, wanted_project uuid, its_level smallint, its_compartments text[], now timestamp with time zone, most integer) RETURNS TABLE(key text, level smallint, compartments text[], version integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_find_memory(words text, wanted_project uuid, its_level smallint, its_compartments text[], now timestamp with time zone, most integer) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_forget(older_than interval, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_forget(older_than interval, most integer) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_forget_attachments(older_than interval, most integer) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_forget_attachments(older_than interval, most integer) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_forget_memory(older_than interval, most integer) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_forget_memory(older_than interval, most integer) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_join(wanted uuid, who uuid, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_join(wanted uuid, who uuid, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_label_number(here uuid, its_level smallint, its_compartments text[]) RETURNS smallint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_label_number(here uuid, its_level smallint, its_compartments text[]) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_messages(ids uuid[], clear_level smallint, clear_compartments text[], clear_closed boolean) RETURNS TABLE(conversation_id uuid, seq bigint, message_id uuid, level smallint, compartments text[], sender uuid, sender_name text, body text, reply_to uuid, thread uuid, mentions uuid[], addressed uuid[], attachments text[], acknowledge boolean, acknowledge_by timestamp with time zone, untrusted boolean, sent_at timestamp with time zone, edited_at timestamp with time zone, deleted_at timestamp with time zone)
    LANGUAGE plpgsql STABLE ROWS 20
    SET search_path TO 'portico', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
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

ALTER FUNCTION portico.bridge_messages(ids uuid[], clear_level smallint, clear_compartments text[], clear_closed boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_near(its_model text, its_vector text, its_project uuid, its_conversation uuid, most integer, clear_level smallint, clear_compartments text[], clear_closed boolean) RETURNS TABLE(message_id uuid, distance double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20
    SET search_path TO 'portico', 'pg_temp'
    SET enable_sort TO 'off'
    AS $_$
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
    $_$;

ALTER FUNCTION portico.bridge_near(its_model text, its_vector text, its_project uuid, its_conversation uuid, most integer, clear_level smallint, clear_compartments text[], clear_closed boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_next_token(wanted uuid) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        UPDATE portico.project p SET token = p.token + 1
         WHERE p.space_id = nullif(current_setting('portico.space', true), '')::uuid
           AND p.project_id = wanted AND portico.bridge_sees(p.level, p.compartments)
           AND portico.mark_covered(p.level, p.compartments)
        RETURNING p.token
    $$;

ALTER FUNCTION portico.bridge_next_token(wanted uuid) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_open(its_id uuid, its_project uuid, its_title text, its_level smallint, its_compartments text[], its_closed boolean, at timestamp with time zone, clear_level smallint, clear_compartments text[]) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_open(its_id uuid, its_project uuid, its_title text, its_level smallint, its_compartments text[], its_closed boolean, at timestamp with time zone, clear_level smallint, clear_compartments text[]) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_place(here uuid, its_label smallint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (substr(md5((((here)::text || ' '::text) || (its_label)::text)), 1, 6) || ':'::text);

ALTER FUNCTION portico.bridge_place(here uuid, its_label smallint) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_places(wanted uuid, its_thread uuid, place bigint, back boolean, most integer, clear_level smallint, clear_compartments text[], clear_closed boolean) RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_places(wanted uuid, its_thread uuid, place bigint, back boolean, most integer, clear_level smallint, clear_compartments text[], clear_closed boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_read_one(its_id uuid, clear_level smallint, clear_compartments text[], clear_closed boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_read_one(its_id uuid, clear_level smallint, clear_compartments text[], clear_closed boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_read_to(wanted uuid, place bigint, partly boolean, clear_level smallint, clear_compartments text[], clear_closed boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_read_to(wanted uuid, place bigint, partly boolean, clear_level smallint, clear_compartments text[], clear_closed boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_sees(its_level smallint, its_compartments text[]) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
        SELECT its_level <= coalesce(nullif(current_setting('portico.level', true), ''), '-1')::smallint
           AND its_compartments <@ string_to_array(coalesce(current_setting('portico.compartments', true), ''), ',')
    $$;

ALTER FUNCTION portico.bridge_sees(its_level smallint, its_compartments text[]) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_send(wanted uuid, its_id uuid, its_level smallint, its_compartments text[], its_body text, its_sender_name text, its_reply_to uuid, its_mentions uuid[], its_addressed uuid[], its_attachments text[], its_acknowledge boolean, its_acknowledge_by timestamp with time zone, its_untrusted boolean, its_copy_of uuid, its_key text, its_digest bytea, at timestamp with time zone, task_opened boolean, clear_level smallint, clear_compartments text[], clear_closed boolean, OUT outcome text, OUT place bigint, OUT message_id uuid, OUT thread uuid, OUT level smallint, OUT compartments text[], OUT inside_level smallint, OUT inside_compartments text[], OUT untrusted boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_send(wanted uuid, its_id uuid, its_level smallint, its_compartments text[], its_body text, its_sender_name text, its_reply_to uuid, its_mentions uuid[], its_addressed uuid[], its_attachments text[], its_acknowledge boolean, its_acknowledge_by timestamp with time zone, its_untrusted boolean, its_copy_of uuid, its_key text, its_digest bytea, at timestamp with time zone, task_opened boolean, clear_level smallint, clear_compartments text[], clear_closed boolean, OUT outcome text, OUT place bigint, OUT message_id uuid, OUT thread uuid, OUT level smallint, OUT compartments text[], OUT inside_level smallint, OUT inside_compartments text[], OUT untrusted boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_spaces_to_embed(its_model text) RETURNS TABLE(space_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        SELECT c.space_id FROM portico.conversation c
          LEFT JOIN portico.embedding_progress r ON r.space_id = c.space_id
           AND r.conversation_id = c.conversation_id AND r.model = its_model
         WHERE c.last_seq > coalesce(r.seq, 0)
         UNION
        SELECT v.space_id FROM portico.message_vector v WHERE v.stale
    $$;

ALTER FUNCTION portico.bridge_spaces_to_embed(its_model text) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_takes_part(its_conversation uuid) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        SELECT EXISTS (
            SELECT FROM portico.participant t
             WHERE t.space_id = nullif(current_setting('portico.space', true), '')::uuid
               AND t.principal_id = nullif(current_setting('portico.principal', true), '')::uuid
               AND t.conversation_id = its_conversation)
    $$;

ALTER FUNCTION portico.bridge_takes_part(its_conversation uuid) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_unembedded(its_model text, most integer, clear_level smallint, clear_compartments text[]) RETURNS TABLE(message_id uuid, body text, at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.bridge_unembedded(its_model text, most integer, clear_level smallint, clear_compartments text[]) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_unread(wanted uuid[], clear_level smallint, clear_compartments text[]) RETURNS TABLE(conversation_id uuid, unread bigint, mentioned bigint, labels text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20
    SET search_path TO 'portico', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
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

ALTER FUNCTION portico.bridge_unread(wanted uuid[], clear_level smallint, clear_compartments text[]) OWNER TO portico_owner;

CREATE FUNCTION portico.bridge_words(its_text text, here uuid, its_label smallint) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_to_tsvector(ARRAY(SELECT (p.place || w.word) FROM (SELECT portico.bridge_place(bridge_words.here, bridge_words.its_label) AS place) p, unnest(tsvector_to_array(to_tsvector('simple'::regconfig, bridge_words.its_text))) w(word) WHERE (octet_length(w.word) < 2000)));

ALTER FUNCTION portico.bridge_words(its_text text, here uuid, its_label smallint) OWNER TO portico_owner;

CREATE FUNCTION portico.debate_add_note(wanted uuid, its_name text, its_level smallint, its_compartments text[], its_kind text, its_voice text, its_round integer, its_body json, its_tokens bigint, its_money numeric, its_time interval, its_calls integer, its_prompt bigint, its_output bigint, its_overrun bigint, its_at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_private boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.debate_add_note(wanted uuid, its_name text, its_level smallint, its_compartments text[], its_kind text, its_voice text, its_round integer, its_body json, its_tokens bigint, its_money numeric, its_time interval, its_calls integer, its_prompt bigint, its_output bigint, its_overrun bigint, its_at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_private boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.debate_answer(wanted uuid, its_key text, its_answer json, clear_level smallint, clear_compartments text[], clear_private boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.debate_answer(wanted uuid, its_key text, its_answer json, clear_level smallint, clear_compartments text[], clear_private boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.debate_chair(wanted uuid, clear_level smallint, clear_compartments text[], clear_private boolean) RETURNS TABLE(voice text, body json, deadline timestamp with time zone, status text, level smallint, compartments text[], run_id uuid, turn bigint, key text, asked json)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.debate_chair(wanted uuid, clear_level smallint, clear_compartments text[], clear_private boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.debate_forget(older_than interval, most integer) RETURNS TABLE(space_id uuid, debate_id uuid)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.debate_forget(older_than interval, most integer) OWNER TO portico_owner;

CREATE TABLE portico.debate (
    space_id uuid NOT NULL,
    debate_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    private boolean NOT NULL,
    untrusted boolean NOT NULL,
    project_id uuid,
    part_of uuid,
    analysis boolean NOT NULL,
    started_by uuid NOT NULL,
    run_id uuid NOT NULL,
    context_id uuid,
    status text NOT NULL,
    question text NOT NULL,
    body json NOT NULL,
    guests integer NOT NULL,
    unbounded boolean NOT NULL,
    cap_tokens bigint,
    cap_money numeric,
    deadline timestamp with time zone NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    decision json,
    tokens bigint DEFAULT 0 NOT NULL,
    money numeric DEFAULT 0 NOT NULL,
    "time" interval DEFAULT '00:00:00'::interval NOT NULL,
    calls integer DEFAULT 0 NOT NULL,
    notes integer DEFAULT 0 NOT NULL,
    copy_of uuid,
    CONSTRAINT debate_body_check CHECK ((json_typeof(body) = 'object'::text)),
    CONSTRAINT debate_calls_check CHECK ((calls >= 0)),
    CONSTRAINT debate_cap_money_check CHECK ((cap_money >= (0)::numeric)),
    CONSTRAINT debate_cap_tokens_check CHECK ((cap_tokens >= 0)),
    CONSTRAINT debate_guests_check CHECK ((guests >= 0)),
    CONSTRAINT debate_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT debate_money_check CHECK ((money >= (0)::numeric)),
    CONSTRAINT debate_status_check CHECK ((status = ANY (ARRAY['running'::text, 'decided'::text, 'no_decision'::text, 'escalated'::text, 'stopped'::text, 'failed'::text]))),
    CONSTRAINT debate_tokens_check CHECK ((tokens >= 0))
);

ALTER TABLE ONLY portico.debate FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.debate OWNER TO portico_owner;

COMMENT ON COLUMN portico.debate.private IS 'for whoever started it alone';

COMMENT ON COLUMN portico.debate.question IS 'to be found by; body has it word for word';

COMMENT ON COLUMN portico.debate.money IS 'US dollars';

COMMENT ON COLUMN portico.debate.notes IS 'how many there are';

COMMENT ON COLUMN portico.debate.copy_of IS 'what it was promoted from, which its readers may not know';

CREATE FUNCTION portico.debate_held(wanted uuid, clear_level smallint, clear_compartments text[], clear_private boolean, OUT its portico.debate, OUT whole boolean) RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.debate_held(wanted uuid, clear_level smallint, clear_compartments text[], clear_private boolean, OUT its portico.debate, OUT whole boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.debate_hush(wanted uuid, its_topic text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        DELETE FROM portico.stream s
         WHERE s.space_id = nullif(current_setting('portico.space', true), '')::uuid
           AND s.topic = its_topic AND its_topic LIKE '~debate:%' AND portico.own_debate(wanted)
    $$;

ALTER FUNCTION portico.debate_hush(wanted uuid, its_topic text) OWNER TO portico_owner;

CREATE FUNCTION portico.debate_promote(its_record uuid, its_approval uuid, its_source uuid, its_copy uuid, to_level smallint, to_compartments text[], its_content text, its_rules text[], its_signature text, its_at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_private boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.debate_promote(its_record uuid, its_approval uuid, its_source uuid, its_copy uuid, to_level smallint, to_compartments text[], its_content text, its_rules text[], its_signature text, its_at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_private boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.debate_reserve(wanted uuid, its_name text, its_tokens bigint, its_money numeric, its_time interval, its_calls integer, clear_level smallint, clear_compartments text[], clear_private boolean) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.debate_reserve(wanted uuid, its_name text, its_tokens bigint, its_money numeric, its_time interval, its_calls integer, clear_level smallint, clear_compartments text[], clear_private boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.debate_settle(wanted uuid, its_name text, its_tokens bigint, its_money numeric, its_time interval, its_calls integer, clear_level smallint, clear_compartments text[], clear_private boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.debate_settle(wanted uuid, its_name text, its_tokens bigint, its_money numeric, its_time interval, its_calls integer, clear_level smallint, clear_compartments text[], clear_private boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.debate_sit(wanted uuid, its_name text, its_voice json, clear_level smallint, clear_compartments text[], clear_private boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.debate_sit(wanted uuid, its_name text, its_voice json, clear_level smallint, clear_compartments text[], clear_private boolean) OWNER TO portico_owner;

CREATE FUNCTION portico.drop_event_months(before timestamp with time zone) RETURNS integer
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$ SELECT portico.drop_months('event', before) $$;

ALTER FUNCTION portico.drop_event_months(before timestamp with time zone) OWNER TO portico_owner;

CREATE FUNCTION portico.drop_months(log text, before timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    SET lock_timeout TO '2s'
    SET "TimeZone" TO 'UTC'
    AS $_$
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
    $_$;

ALTER FUNCTION portico.drop_months(log text, before timestamp with time zone) OWNER TO portico_owner;

CREATE FUNCTION portico.enter(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text) RETURNS void
    LANGUAGE sql
    AS $$
        SELECT set_config('portico.space', asking_space::text, true),
               set_config('portico.principal', asking::text, true),
               set_config('portico.level', asking_level::text, true),
               set_config('portico.compartments', asking_compartments, true)
    $$;

ALTER FUNCTION portico.enter(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text) OWNER TO portico_owner;

CREATE FUNCTION portico.find_api_key(wanted text) RETURNS TABLE(key_id text, space_id uuid, principal_id uuid, purpose text, key_name text, digest bytea, scopes text[], key_level smallint, key_compartments text[], key_tools text[], opened_with text, opened_with_until timestamp with time zone, created_at timestamp with time zone, expires_at timestamp with time zone, last_used_at timestamp with time zone, revoked_at timestamp with time zone, kind text, name text, roles text[], grants text[], level smallint, compartments text[], tools text[], principal_created_at timestamp with time zone, disabled_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.find_api_key(wanted text) OWNER TO portico_owner;

CREATE FUNCTION portico.find_login_attempt(wanted bytea, at timestamp with time zone) RETURNS TABLE(space_id uuid, principal_id uuid, server_id uuid, sealed bytea)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        SELECT a.space_id, a.principal_id, a.server_id, a.sealed
          FROM portico.login_attempt a
         WHERE a.digest = wanted AND a.expires_at > at
    $$;

ALTER FUNCTION portico.find_login_attempt(wanted bytea, at timestamp with time zone) OWNER TO portico_owner;

CREATE FUNCTION portico.finish_step(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_run uuid, its_claim uuid, its_name text, its_number integer, its_state text, its_output json, its_error json, its_due timestamp with time zone, its_start timestamp with time zone, its_end timestamp with time zone, its_topic text, its_event uuid, its_type text, its_facts json) RETURNS boolean
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

ALTER FUNCTION portico.finish_step(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_run uuid, its_claim uuid, its_name text, its_number integer, its_state text, its_output json, its_error json, its_due timestamp with time zone, its_start timestamp with time zone, its_end timestamp with time zone, its_topic text, its_event uuid, its_type text, its_facts json) OWNER TO portico_owner;

CREATE FUNCTION portico.mark_covered(its_level smallint, its_compartments text[]) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        SELECT NOT EXISTS (
            SELECT FROM portico.taint_context t
             WHERE t.space_id = nullif(current_setting('portico.space', true), '')::uuid
               AND t.context_id = nullif(current_setting('portico.context', true), '')::uuid
               AND NOT (t.level <= its_level AND t.compartments <@ its_compartments))
           AND nullif(current_setting('portico.context', true), '') IS NOT NULL
    $$;

ALTER FUNCTION portico.mark_covered(its_level smallint, its_compartments text[]) OWNER TO portico_owner;

CREATE FUNCTION portico.own_conversations() RETURNS uuid[]
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        SELECT coalesce(array_agg(p.conversation_id), '{}') FROM portico.participant p
         WHERE p.space_id = nullif(current_setting('portico.space', true), '')::uuid
           AND p.principal_id = nullif(current_setting('portico.principal', true), '')::uuid
    $$;

ALTER FUNCTION portico.own_conversations() OWNER TO portico_owner;

CREATE FUNCTION portico.own_debate(wanted uuid) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        SELECT EXISTS (
            SELECT FROM portico.debate d
             WHERE d.space_id = nullif(current_setting('portico.space', true), '')::uuid
               AND d.debate_id = wanted
               AND d.started_by = nullif(current_setting('portico.principal', true), '')::uuid)
    $$;

ALTER FUNCTION portico.own_debate(wanted uuid) OWNER TO portico_owner;

CREATE FUNCTION portico.prepare_event_months(ahead integer) RETURNS integer
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$ SELECT portico.prepare_months('event', ahead) $$;

ALTER FUNCTION portico.prepare_event_months(ahead integer) OWNER TO portico_owner;

CREATE FUNCTION portico.prepare_months(log text, ahead integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    SET lock_timeout TO '2s'
    SET "TimeZone" TO 'UTC'
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

ALTER FUNCTION portico.prepare_months(log text, ahead integer) OWNER TO portico_owner;

CREATE FUNCTION portico.runs_that_say(words text) RETURNS TABLE(run_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.runs_that_say(words text) OWNER TO portico_owner;

CREATE FUNCTION portico.take_calls(subjects text[], most integer[], ahead integer[], waiting integer[], back integer[], back_slot bigint[], slot_seconds double precision, slots integer) RETURNS TABLE(subject text, granted integer, slot bigint, wait_seconds double precision)
    LANGUAGE plpgsql
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.take_calls(subjects text[], most integer[], ahead integer[], waiting integer[], back integer[], back_slot bigint[], slot_seconds double precision, slots integer) OWNER TO portico_owner;

CREATE FUNCTION portico.take_login_attempt(wanted bytea, at timestamp with time zone) RETURNS TABLE(space_id uuid, principal_id uuid, server_id uuid, sealed bytea)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
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

ALTER FUNCTION portico.take_login_attempt(wanted bytea, at timestamp with time zone) OWNER TO portico_owner;

CREATE FUNCTION portico.uncount_servers() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'portico', 'pg_temp'
    AS $$
        BEGIN
            DELETE FROM portico.prediction_count AS c USING gone
             WHERE c.space_id = gone.space_id AND gone.server_id = ANY (c.servers);
            RETURN NULL;
        END
    $$;

ALTER FUNCTION portico.uncount_servers() OWNER TO portico_owner;

CREATE TABLE portico.agent (
    space_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    name text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    version integer NOT NULL,
    spec json NOT NULL,
    made_by uuid NOT NULL,
    made_by_name text NOT NULL,
    made_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT agent_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT agent_name_check CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_-]{0,47}$'::text)),
    CONSTRAINT agent_spec_check CHECK ((json_typeof(spec) = 'object'::text)),
    CONSTRAINT agent_version_check CHECK ((version >= 1))
);

ALTER TABLE ONLY portico.agent FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.agent OWNER TO portico_owner;

COMMENT ON COLUMN portico.agent.principal_id IS 'who it is when it calls a tool';

CREATE TABLE portico.agent_input (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    number integer NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    text text NOT NULL,
    said_by uuid NOT NULL,
    said_at timestamp with time zone NOT NULL,
    CONSTRAINT agent_input_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT agent_input_number_check CHECK ((number >= 1))
);

ALTER TABLE ONLY portico.agent_input FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_input OWNER TO portico_owner;

CREATE TABLE portico.agent_run (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    agent_name text NOT NULL,
    agent_version integer NOT NULL,
    started_by uuid NOT NULL,
    acts_as uuid NOT NULL,
    context_id uuid NOT NULL,
    continues uuid,
    history json NOT NULL,
    status text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    stop_at timestamp with time zone,
    model text NOT NULL,
    turns integer NOT NULL,
    tool_uses integer NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    reported boolean NOT NULL,
    money numeric NOT NULL,
    answer text NOT NULL,
    error_code text,
    error text,
    trace_id text NOT NULL,
    CONSTRAINT agent_run_cached_tokens_check CHECK ((cached_tokens >= 0)),
    CONSTRAINT agent_run_history_check CHECK ((json_typeof(history) = 'array'::text)),
    CONSTRAINT agent_run_input_tokens_check CHECK ((input_tokens >= 0)),
    CONSTRAINT agent_run_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT agent_run_money_check CHECK ((money >= (0)::numeric)),
    CONSTRAINT agent_run_output_tokens_check CHECK ((output_tokens >= 0)),
    CONSTRAINT agent_run_status_check CHECK ((status = ANY (ARRAY['running'::text, 'waiting'::text, 'completed'::text, 'stopped'::text, 'exhausted'::text, 'failed'::text, 'cancelled'::text]))),
    CONSTRAINT agent_run_tool_uses_check CHECK ((tool_uses >= 0)),
    CONSTRAINT agent_run_trace_id_check CHECK ((trace_id ~ '^[0-9a-f]{32}$'::text)),
    CONSTRAINT agent_run_turns_check CHECK ((turns >= 0))
);

ALTER TABLE ONLY portico.agent_run FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_run OWNER TO portico_owner;

COMMENT ON COLUMN portico.agent_run.history IS 'what was said before, by the account of whoever started it';

COMMENT ON COLUMN portico.agent_run.stop_at IS 'when somebody said that it is to stop';

COMMENT ON COLUMN portico.agent_run.reported IS 'whether every server said how many tokens it took; the rest is what was counted here';

COMMENT ON COLUMN portico.agent_run.money IS 'US dollars';

CREATE TABLE portico.agent_tool_use (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    turn integer NOT NULL,
    place integer NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    call text NOT NULL,
    tool text NOT NULL,
    arguments json NOT NULL,
    text text NOT NULL,
    failed boolean NOT NULL,
    code text,
    approval_id uuid,
    early boolean NOT NULL,
    started_at timestamp with time zone NOT NULL,
    took interval NOT NULL,
    span_id text NOT NULL,
    CONSTRAINT agent_tool_use_arguments_check CHECK ((json_typeof(arguments) = 'object'::text)),
    CONSTRAINT agent_tool_use_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT agent_tool_use_place_check CHECK ((place >= 0)),
    CONSTRAINT agent_tool_use_span_id_check CHECK ((span_id ~ '^[0-9a-f]{16}$'::text)),
    CONSTRAINT agent_tool_use_turn_check CHECK ((turn >= 1))
);

ALTER TABLE ONLY portico.agent_tool_use FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_tool_use OWNER TO portico_owner;

CREATE TABLE portico.agent_turn (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    number integer NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    model text NOT NULL,
    attempts integer NOT NULL,
    heard integer NOT NULL,
    text text NOT NULL,
    thought text NOT NULL,
    calls json NOT NULL,
    kept json NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    reported boolean NOT NULL,
    counted bigint NOT NULL,
    money numeric NOT NULL,
    finish text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    took interval NOT NULL,
    first_piece interval,
    notes text[] NOT NULL,
    span_id text NOT NULL,
    CONSTRAINT agent_turn_calls_check CHECK ((json_typeof(calls) = 'array'::text)),
    CONSTRAINT agent_turn_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT agent_turn_number_check CHECK ((number >= 1)),
    CONSTRAINT agent_turn_span_id_check CHECK ((span_id ~ '^[0-9a-f]{16}$'::text))
);

ALTER TABLE ONLY portico.agent_turn FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_turn OWNER TO portico_owner;

COMMENT ON COLUMN portico.agent_turn.kept IS 'what the server of the model wants back with it, word for word';

COMMENT ON COLUMN portico.agent_turn.counted IS 'tokens that the budget was charged';

CREATE TABLE portico.agent_version (
    space_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    number integer NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    spec json NOT NULL,
    made_by uuid NOT NULL,
    made_by_name text NOT NULL,
    made_at timestamp with time zone NOT NULL,
    CONSTRAINT agent_version_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT agent_version_number_check CHECK ((number >= 1)),
    CONSTRAINT agent_version_spec_check CHECK ((json_typeof(spec) = 'object'::text))
);

ALTER TABLE ONLY portico.agent_version FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_version OWNER TO portico_owner;

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
    tools text[],
    elicits_for uuid,
    opened_with text,
    opened_with_until timestamp with time zone,
    CONSTRAINT api_key_digest_check CHECK ((length(digest) = 32)),
    CONSTRAINT api_key_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT api_key_name_check CHECK (((length(name) >= 1) AND (length(name) <= 300))),
    CONSTRAINT api_key_opened_with_check CHECK (
CASE
    WHEN (purpose = 'session'::text) THEN ((opened_with IS NOT NULL) AND (expires_at IS NOT NULL))
    ELSE ((opened_with IS NULL) AND (opened_with_until IS NULL))
END),
    CONSTRAINT api_key_purpose_check CHECK ((purpose = ANY (ARRAY['access'::text, 'invitation'::text, 'session'::text]))),
    CONSTRAINT api_key_tools_check CHECK ((cardinality(tools) <= 200))
);

ALTER TABLE ONLY portico.api_key FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.api_key OWNER TO portico_owner;

COMMENT ON COLUMN portico.api_key.opened_with_until IS 'when that key ends; NULL: it does not';

CREATE TABLE portico.approval (
    space_id uuid NOT NULL,
    approval_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    asker text NOT NULL,
    asker_kind text NOT NULL,
    key_id text,
    named_context uuid,
    context_id uuid NOT NULL,
    action text NOT NULL,
    tool text NOT NULL,
    server text NOT NULL,
    effect text NOT NULL,
    pin text NOT NULL,
    launch text NOT NULL,
    hash text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    tainted boolean NOT NULL,
    arguments json NOT NULL,
    sealed bytea NOT NULL,
    marks json NOT NULL,
    before json NOT NULL,
    rule text NOT NULL,
    reason text NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    status text NOT NULL,
    answer text,
    answered_by uuid,
    answerer text,
    answered_via text,
    answered_at timestamp with time zone,
    answer_reason text,
    rule_made text,
    replaces uuid,
    replaced_by uuid,
    claimed_at timestamp with time zone,
    outcome text,
    ended_at timestamp with time zone,
    error text,
    result text,
    collected_at timestamp with time zone,
    resolved_by text,
    waiter_run uuid,
    waiter_topic text,
    waiter_level smallint,
    waiter_compartments text[],
    CONSTRAINT approval_answer_check CHECK ((answer = ANY (ARRAY['once'::text, 'run'::text, 'always'::text, 'reject'::text]))),
    CONSTRAINT approval_answer_reason_check CHECK ((length(answer_reason) <= 2000)),
    CONSTRAINT approval_asker_kind_check CHECK ((asker_kind = ANY (ARRAY['person'::text, 'agent'::text, 'worker'::text]))),
    CONSTRAINT approval_check CHECK (((status <> 'approved'::text) OR (answer = ANY (ARRAY['once'::text, 'run'::text, 'always'::text])))),
    CONSTRAINT approval_check1 CHECK (((claimed_at IS NULL) OR (status = 'approved'::text))),
    CONSTRAINT approval_check2 CHECK (((outcome IS NULL) OR (claimed_at IS NOT NULL))),
    CONSTRAINT approval_check3 CHECK ((num_nonnulls(waiter_run, waiter_topic, waiter_level, waiter_compartments) = ANY (ARRAY[0, 4]))),
    CONSTRAINT approval_hash_check CHECK ((length(hash) = 64)),
    CONSTRAINT approval_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT approval_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'failed'::text, 'uncertain'::text, 'skipped'::text]))),
    CONSTRAINT approval_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'approved'::text, 'rejected'::text, 'expired'::text, 'replaced'::text, 'withdrawn'::text]))),
    CONSTRAINT approval_waiter_level_check CHECK (((waiter_level >= 0) AND (waiter_level <= 3))),
    CONSTRAINT approval_waiter_topic_check CHECK (((length(waiter_topic) >= 1) AND (length(waiter_topic) <= 200)))
);

ALTER TABLE ONLY portico.approval FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.approval OWNER TO portico_owner;

CREATE TABLE portico.attachment (
    space_id uuid NOT NULL,
    digest text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    name text NOT NULL,
    untrusted boolean DEFAULT false NOT NULL,
    media_type text NOT NULL,
    content bytea NOT NULL,
    added_by uuid NOT NULL,
    added_at timestamp with time zone NOT NULL,
    CONSTRAINT attachment_content_check CHECK ((length(content) <= 25000000)),
    CONSTRAINT attachment_digest_check CHECK ((digest ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT attachment_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT attachment_media_type_check CHECK (((length(media_type) >= 1) AND (length(media_type) <= 200))),
    CONSTRAINT attachment_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);
ALTER TABLE ONLY portico.attachment ALTER COLUMN content SET STORAGE EXTERNAL;

ALTER TABLE ONLY portico.attachment FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.attachment OWNER TO portico_owner;

CREATE TABLE portico.audit_entry (
    space_id uuid NOT NULL,
    number bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    entry text NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_entry_hash_check CHECK ((length(hash) = 32)),
    CONSTRAINT audit_entry_number_check CHECK ((number > 0))
);

ALTER TABLE ONLY portico.audit_entry FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.audit_entry OWNER TO portico_owner;

CREATE TABLE portico.audit_head (
    space_id uuid NOT NULL,
    number bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_head_hash_check CHECK ((length(hash) = 32))
);

ALTER TABLE ONLY portico.audit_head FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.audit_head OWNER TO portico_owner;

CREATE TABLE portico.bridge_label (
    space_id uuid NOT NULL,
    number smallint NOT NULL,
    level smallint NOT NULL,
    compartments text[] NOT NULL,
    CONSTRAINT bridge_label_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT bridge_label_number_check CHECK ((number >= 1))
);

ALTER TABLE ONLY portico.bridge_label FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.bridge_label OWNER TO portico_owner;

CREATE TABLE portico.budget (
    space_id uuid NOT NULL,
    name text NOT NULL,
    opened_at timestamp with time zone DEFAULT now() NOT NULL,
    cap_tokens bigint NOT NULL,
    cap_money numeric NOT NULL,
    cap_time interval NOT NULL,
    cap_calls bigint NOT NULL,
    held_tokens bigint DEFAULT 0 NOT NULL,
    held_money numeric DEFAULT 0 NOT NULL,
    held_time interval DEFAULT '00:00:00'::interval NOT NULL,
    held_calls bigint DEFAULT 0 NOT NULL,
    CONSTRAINT budget_cap_calls_check CHECK ((cap_calls >= 0)),
    CONSTRAINT budget_cap_money_check CHECK ((cap_money >= (0)::numeric)),
    CONSTRAINT budget_cap_time_check CHECK ((cap_time >= '00:00:00'::interval)),
    CONSTRAINT budget_cap_tokens_check CHECK ((cap_tokens >= 0)),
    CONSTRAINT budget_check CHECK (((held_tokens >= 0) AND (held_tokens <= cap_tokens))),
    CONSTRAINT budget_check1 CHECK (((held_money >= (0)::numeric) AND (held_money <= cap_money))),
    CONSTRAINT budget_check2 CHECK (((held_time >= '00:00:00'::interval) AND (held_time <= cap_time))),
    CONSTRAINT budget_check3 CHECK (((held_calls >= 0) AND (held_calls <= cap_calls))),
    CONSTRAINT budget_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

ALTER TABLE ONLY portico.budget FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.budget OWNER TO portico_owner;

COMMENT ON COLUMN portico.budget.held_tokens IS 'spent or reserved, as are the others of this name';

CREATE TABLE portico.budget_reservation (
    space_id uuid NOT NULL,
    budget text NOT NULL,
    name text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    tokens bigint NOT NULL,
    money numeric NOT NULL,
    "time" interval NOT NULL,
    calls bigint NOT NULL,
    CONSTRAINT budget_reservation_calls_check CHECK ((calls >= 0)),
    CONSTRAINT budget_reservation_money_check CHECK ((money >= (0)::numeric)),
    CONSTRAINT budget_reservation_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT budget_reservation_time_check CHECK (("time" >= '00:00:00'::interval)),
    CONSTRAINT budget_reservation_tokens_check CHECK ((tokens >= 0))
);

ALTER TABLE ONLY portico.budget_reservation FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.budget_reservation OWNER TO portico_owner;

CREATE TABLE portico.call_count (
    space_id uuid NOT NULL,
    subject text NOT NULL,
    slot bigint NOT NULL,
    taken integer[] NOT NULL,
    CONSTRAINT call_count_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 400)))
)
WITH (fillfactor='50');

ALTER TABLE ONLY portico.call_count FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.call_count OWNER TO portico_owner;

CREATE TABLE portico.component_version (
    name text NOT NULL,
    version text NOT NULL,
    migrated_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE portico.component_version OWNER TO portico_owner;

CREATE TABLE portico.conversation (
    space_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    project_id uuid NOT NULL,
    title text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    closed boolean DEFAULT false NOT NULL,
    made_by uuid NOT NULL,
    made_at timestamp with time zone NOT NULL,
    archived_at timestamp with time zone,
    last_seq bigint DEFAULT 0 NOT NULL,
    said bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    newest timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
    CONSTRAINT conversation_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT conversation_title_check CHECK (((length(title) >= 1) AND (length(title) <= 200)))
)
WITH (fillfactor='70');

ALTER TABLE ONLY portico.conversation FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.conversation OWNER TO portico_owner;

COMMENT ON COLUMN portico.conversation.closed IS 'for those who take part in it alone';

COMMENT ON COLUMN portico.conversation.said IS 'messages that are not deleted, by number of label';

COMMENT ON COLUMN portico.conversation.newest IS 'when the last one came, by number of label';

CREATE TABLE portico.debate_cap (
    space_id uuid NOT NULL,
    project_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    tokens bigint,
    money numeric,
    CONSTRAINT debate_cap_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT debate_cap_money_check1 CHECK ((money >= (0)::numeric)),
    CONSTRAINT debate_cap_tokens_check1 CHECK ((tokens >= 0))
);

ALTER TABLE ONLY portico.debate_cap FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_cap OWNER TO portico_owner;

COMMENT ON TABLE portico.debate_cap IS 'what the debates of a project may spend; NULL is no limit';

CREATE TABLE portico.debate_note (
    space_id uuid NOT NULL,
    debate_id uuid NOT NULL,
    name text NOT NULL,
    place integer NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    kind text NOT NULL,
    voice text,
    round integer NOT NULL,
    body json NOT NULL,
    tokens bigint DEFAULT 0 NOT NULL,
    money numeric DEFAULT 0 NOT NULL,
    "time" interval DEFAULT '00:00:00'::interval NOT NULL,
    calls integer DEFAULT 0 NOT NULL,
    prompt_tokens bigint DEFAULT 0 NOT NULL,
    output_tokens bigint DEFAULT 0 NOT NULL,
    overrun bigint DEFAULT 0 NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT debate_note_body_check CHECK ((json_typeof(body) = 'object'::text)),
    CONSTRAINT debate_note_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT debate_note_name_check CHECK (((length(name) >= 1) AND (length(name) <= 1000)))
);

ALTER TABLE ONLY portico.debate_note FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_note OWNER TO portico_owner;

COMMENT ON TABLE portico.debate_note IS 'only ever added to: a debate is what its notes say';

CREATE TABLE portico.debate_outcome (
    space_id uuid NOT NULL,
    debate_id uuid NOT NULL,
    number integer NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    right_answer json NOT NULL,
    shown json NOT NULL,
    decided_right boolean NOT NULL,
    source text NOT NULL,
    note text NOT NULL,
    marked_by uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT debate_outcome_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT debate_outcome_number_check CHECK ((number >= 1))
);

ALTER TABLE ONLY portico.debate_outcome FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_outcome OWNER TO portico_owner;

COMMENT ON COLUMN portico.debate_outcome.right_answer IS 'what it is counted as, or null';

COMMENT ON COLUMN portico.debate_outcome.shown IS 'the same as people read it, or null';

CREATE TABLE portico.debate_persona (
    space_id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    instructions text NOT NULL,
    specialist boolean NOT NULL,
    made_by uuid,
    changed_at timestamp with time zone,
    CONSTRAINT debate_persona_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)))
);

ALTER TABLE ONLY portico.debate_persona FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_persona OWNER TO portico_owner;

COMMENT ON TABLE portico.debate_persona IS 'for everybody in the space, and so public';

CREATE TABLE portico.debate_question (
    space_id uuid NOT NULL,
    debate_id uuid NOT NULL,
    key text NOT NULL,
    principal_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    place integer NOT NULL,
    asked json NOT NULL,
    answer json,
    CONSTRAINT debate_question_answer_check CHECK ((json_typeof(answer) = 'object'::text)),
    CONSTRAINT debate_question_asked_check CHECK ((json_typeof(asked) = 'object'::text)),
    CONSTRAINT debate_question_key_check CHECK (((length(key) >= 1) AND (length(key) <= 1000))),
    CONSTRAINT debate_question_level_check CHECK (((level >= 0) AND (level <= 3)))
);

ALTER TABLE ONLY portico.debate_question FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_question OWNER TO portico_owner;

COMMENT ON TABLE portico.debate_question IS 'what guests are asked; the first answer stays';

CREATE TABLE portico.debate_reservation (
    space_id uuid NOT NULL,
    debate_id uuid NOT NULL,
    name text NOT NULL,
    whole_id uuid NOT NULL,
    project_id uuid,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    tokens bigint NOT NULL,
    money numeric NOT NULL,
    "time" interval NOT NULL,
    calls integer NOT NULL,
    settled boolean DEFAULT false NOT NULL,
    CONSTRAINT debate_reservation_calls_check CHECK ((calls >= 0)),
    CONSTRAINT debate_reservation_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT debate_reservation_money_check CHECK ((money >= (0)::numeric)),
    CONSTRAINT debate_reservation_name_check CHECK (((length(name) >= 1) AND (length(name) <= 1000))),
    CONSTRAINT debate_reservation_time_check CHECK (("time" >= '00:00:00'::interval)),
    CONSTRAINT debate_reservation_tokens_check CHECK ((tokens >= 0))
);

ALTER TABLE ONLY portico.debate_reservation FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_reservation OWNER TO portico_owner;

COMMENT ON COLUMN portico.debate_reservation.whole_id IS 'the analysis that it is a part of, or itself';

COMMENT ON COLUMN portico.debate_reservation.level IS 'what it was charged as: as secret as its debate was then';

CREATE TABLE portico.debate_seat (
    space_id uuid NOT NULL,
    debate_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    place integer NOT NULL,
    name text NOT NULL,
    voice json NOT NULL,
    CONSTRAINT debate_seat_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT debate_seat_name_check CHECK (((length(name) >= 1) AND (length(name) <= 300))),
    CONSTRAINT debate_seat_voice_check CHECK ((json_typeof(voice) = 'object'::text))
);

ALTER TABLE ONLY portico.debate_seat FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_seat OWNER TO portico_owner;

CREATE TABLE portico.debate_spending (
    space_id uuid NOT NULL,
    project_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    tokens bigint NOT NULL,
    money numeric NOT NULL,
    "time" interval NOT NULL,
    calls bigint NOT NULL,
    CONSTRAINT debate_spending_level_check CHECK (((level >= 0) AND (level <= 3)))
);

ALTER TABLE ONLY portico.debate_spending FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_spending OWNER TO portico_owner;

CREATE TABLE portico.declassification (
    space_id uuid NOT NULL,
    record_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    source_id uuid NOT NULL,
    copy_id uuid NOT NULL,
    after_level smallint NOT NULL,
    after_compartments text[] DEFAULT '{}'::text[] NOT NULL,
    rules text[] DEFAULT '{}'::text[] NOT NULL,
    asked_by uuid NOT NULL,
    approved_by uuid NOT NULL,
    approval_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    digest text NOT NULL,
    signature text NOT NULL,
    CONSTRAINT declassification_after_level_check CHECK (((after_level >= 0) AND (after_level <= 3))),
    CONSTRAINT declassification_level_check CHECK (((level >= 0) AND (level <= 3)))
);

ALTER TABLE ONLY portico.declassification FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.declassification OWNER TO portico_owner;

COMMENT ON TABLE portico.declassification IS 'as secret as what it was made of; never changed';

CREATE TABLE portico.embedding (
    space_id uuid NOT NULL,
    model text NOT NULL,
    content_key text NOT NULL,
    vector bytea NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT embedding_content_key_check CHECK (((length(content_key) >= 1) AND (length(content_key) <= 200))),
    CONSTRAINT embedding_model_check CHECK (((length(model) >= 1) AND (length(model) <= 300))),
    CONSTRAINT embedding_vector_check CHECK (((length(vector) % 4) = 0))
);
ALTER TABLE ONLY portico.embedding ALTER COLUMN vector SET STORAGE EXTERNAL;

ALTER TABLE ONLY portico.embedding FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.embedding OWNER TO portico_owner;

CREATE TABLE portico.embedding_progress (
    space_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    model text NOT NULL,
    seq bigint NOT NULL
);

ALTER TABLE ONLY portico.embedding_progress FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.embedding_progress OWNER TO portico_owner;

COMMENT ON TABLE portico.embedding_progress IS 'every message up to there has its vector by this model';

CREATE TABLE portico.event (
    space_id uuid NOT NULL,
    topic text NOT NULL,
    number bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    event_id uuid NOT NULL,
    type text NOT NULL,
    principal_id uuid,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    facts json NOT NULL,
    CONSTRAINT event_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT event_type_check CHECK (((length(type) >= 1) AND (length(type) <= 100)))
)
PARTITION BY RANGE (at);

ALTER TABLE ONLY portico.event FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.event OWNER TO portico_owner;

CREATE TABLE portico.event_other (
    space_id uuid CONSTRAINT event_space_id_not_null NOT NULL,
    topic text CONSTRAINT event_topic_not_null NOT NULL,
    number bigint CONSTRAINT event_number_not_null NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() CONSTRAINT event_at_not_null NOT NULL,
    event_id uuid CONSTRAINT event_event_id_not_null NOT NULL,
    type text CONSTRAINT event_type_not_null NOT NULL,
    principal_id uuid,
    level smallint CONSTRAINT event_level_not_null NOT NULL,
    compartments text[] DEFAULT '{}'::text[] CONSTRAINT event_compartments_not_null NOT NULL,
    facts json CONSTRAINT event_facts_not_null NOT NULL,
    CONSTRAINT event_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT event_type_check CHECK (((length(type) >= 1) AND (length(type) <= 100)))
);

ALTER TABLE ONLY portico.event_other FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.event_other OWNER TO portico_owner;

CREATE TABLE portico.idempotency_record (
    space_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    operation text NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL,
    body json,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT idempotency_record_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255)))
);

ALTER TABLE ONLY portico.idempotency_record FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.idempotency_record OWNER TO portico_owner;

CREATE TABLE portico.inferred_schema (
    space_id uuid NOT NULL,
    server_id uuid NOT NULL,
    tool text NOT NULL,
    pin text NOT NULL,
    seen bigint NOT NULL,
    shape json NOT NULL,
    CONSTRAINT inferred_schema_seen_check CHECK ((seen >= 0)),
    CONSTRAINT inferred_schema_tool_check CHECK ((length(tool) > 0))
);

ALTER TABLE ONLY portico.inferred_schema FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.inferred_schema OWNER TO portico_owner;

CREATE TABLE portico.lease (
    space_id uuid NOT NULL,
    lease_id uuid NOT NULL,
    project_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    resource text NOT NULL,
    purpose text DEFAULT ''::text NOT NULL,
    principal_id uuid NOT NULL,
    token bigint,
    since timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT lease_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT lease_resource_check CHECK (((length(resource) >= 1) AND (length(resource) <= 300)))
);

ALTER TABLE ONLY portico.lease FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.lease OWNER TO portico_owner;

COMMENT ON COLUMN portico.lease.token IS 'NULL of somebody who waits for it';

CREATE TABLE portico.login (
    space_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    server_id uuid NOT NULL,
    sealed bytea NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY portico.login FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.login OWNER TO portico_owner;

CREATE TABLE portico.login_attempt (
    digest bytea NOT NULL,
    space_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    server_id uuid NOT NULL,
    sealed bytea NOT NULL,
    begun_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT login_attempt_digest_check CHECK ((length(digest) = 32))
);

ALTER TABLE ONLY portico.login_attempt FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.login_attempt OWNER TO portico_owner;

CREATE TABLE portico.login_client (
    space_id uuid NOT NULL,
    server_id uuid NOT NULL,
    settings jsonb NOT NULL,
    sealed bytea,
    CONSTRAINT login_client_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text))
);

ALTER TABLE ONLY portico.login_client FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.login_client OWNER TO portico_owner;

CREATE TABLE portico.memory (
    space_id uuid NOT NULL,
    project_id uuid NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    version integer NOT NULL,
    value json,
    untrusted boolean DEFAULT false NOT NULL,
    forgotten boolean DEFAULT false NOT NULL,
    expires_at timestamp with time zone,
    written_by uuid NOT NULL,
    written_at timestamp with time zone NOT NULL,
    CONSTRAINT memory_key_check CHECK (((length(key) >= 1) AND (length(key) <= 200))),
    CONSTRAINT memory_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT memory_version_check CHECK ((version >= 1))
);

ALTER TABLE ONLY portico.memory FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.memory OWNER TO portico_owner;

COMMENT ON TABLE portico.memory IS 'every version of every key; the last one of a key and label is what is remembered';

CREATE TABLE portico.mention (
    space_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    label smallint NOT NULL
);

ALTER TABLE ONLY portico.mention FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.mention OWNER TO portico_owner;

CREATE TABLE portico.message (
    space_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    message_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    label smallint NOT NULL,
    closed boolean NOT NULL,
    sender uuid NOT NULL,
    sender_name text NOT NULL,
    body text NOT NULL,
    reply_to uuid,
    thread uuid,
    mentions uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    addressed uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    owing uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    attachments text[] DEFAULT '{}'::text[] NOT NULL,
    acknowledge boolean DEFAULT false NOT NULL,
    acknowledge_by timestamp with time zone,
    untrusted boolean DEFAULT false NOT NULL,
    copy_of uuid,
    key text,
    digest bytea,
    sent_at timestamp with time zone NOT NULL,
    edited_at timestamp with time zone,
    deleted_at timestamp with time zone,
    words tsvector GENERATED ALWAYS AS (portico.bridge_words(body, space_id, label)) STORED NOT NULL,
    CONSTRAINT message_body_check CHECK ((length(body) <= 100000)),
    CONSTRAINT message_level_check CHECK (((level >= 0) AND (level <= 3)))
);

ALTER TABLE ONLY portico.message FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.message OWNER TO portico_owner;

COMMENT ON COLUMN portico.message.owing IS 'those to whom it is addressed and who are to acknowledge it, and have not';

COMMENT ON COLUMN portico.message.digest IS 'of what was sent with the key';

CREATE TABLE portico.message_ack (
    space_id uuid NOT NULL,
    message_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT message_ack_level_check CHECK (((level >= 0) AND (level <= 3)))
);

ALTER TABLE ONLY portico.message_ack FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.message_ack OWNER TO portico_owner;

CREATE TABLE portico.message_vector (
    space_id uuid NOT NULL,
    message_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    label smallint NOT NULL,
    closed boolean NOT NULL,
    model text NOT NULL,
    embedding public.halfvec,
    stale boolean DEFAULT false NOT NULL,
    CONSTRAINT message_vector_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT message_vector_model_check CHECK (((length(model) >= 1) AND (length(model) <= 100)))
);

ALTER TABLE ONLY portico.message_vector FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.message_vector OWNER TO portico_owner;

COMMENT ON COLUMN portico.message_vector.embedding IS 'none, of one without a word';

COMMENT ON COLUMN portico.message_vector.stale IS 'it says something else by now';

CREATE TABLE portico.message_version (
    space_id uuid NOT NULL,
    message_id uuid NOT NULL,
    number integer NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    body text NOT NULL,
    changed_by uuid NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT message_version_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT message_version_number_check CHECK ((number >= 1))
);

ALTER TABLE ONLY portico.message_version FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.message_version OWNER TO portico_owner;

CREATE TABLE portico.participant (
    space_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    joined_at timestamp with time zone NOT NULL,
    muted boolean DEFAULT false NOT NULL,
    last_seq bigint NOT NULL,
    seen bigint[] NOT NULL,
    apart bigint[] DEFAULT '{}'::bigint[] NOT NULL
)
WITH (fillfactor='70');

ALTER TABLE ONLY portico.participant FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.participant OWNER TO portico_owner;

COMMENT ON COLUMN portico.participant.seen IS 'messages up to last_seq that are not deleted, by number of label';

COMMENT ON COLUMN portico.participant.apart IS 'messages after last_seq that are not deleted and count as read: their own, and read_message; by number of label';

CREATE TABLE portico.past_plan (
    space_id uuid NOT NULL,
    plan_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    intent text NOT NULL,
    vector bytea NOT NULL,
    steps json NOT NULL,
    runs bigint NOT NULL,
    accepted bigint DEFAULT 0 NOT NULL,
    rejected bigint DEFAULT 0 NOT NULL,
    modified bigint DEFAULT 0 NOT NULL,
    last_at timestamp with time zone NOT NULL,
    CONSTRAINT past_plan_accepted_check CHECK ((accepted >= 0)),
    CONSTRAINT past_plan_intent_check CHECK (((length(intent) >= 1) AND (length(intent) <= 2000))),
    CONSTRAINT past_plan_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT past_plan_modified_check CHECK ((modified >= 0)),
    CONSTRAINT past_plan_rejected_check CHECK ((rejected >= 0)),
    CONSTRAINT past_plan_runs_check CHECK ((runs >= 0)),
    CONSTRAINT past_plan_steps_check CHECK ((octet_length((steps)::text) <= 65536))
);

ALTER TABLE ONLY portico.past_plan FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.past_plan OWNER TO portico_owner;

COMMENT ON COLUMN portico.past_plan.intent IS 'with a kind in the place of each value in it';

COMMENT ON COLUMN portico.past_plan.vector IS 'of the intent without its values: float32, little-endian';

COMMENT ON COLUMN portico.past_plan.steps IS 'tools by the ids of their servers, and where each argument came from; nobody''s values';

CREATE TABLE portico.policy_rule (
    space_id uuid NOT NULL,
    name text NOT NULL,
    ruling text NOT NULL,
    tools text[] NOT NULL,
    but text[] DEFAULT '{}'::text[] NOT NULL,
    who text[] DEFAULT '{}'::text[] NOT NULL,
    effects text[] DEFAULT '{}'::text[] NOT NULL,
    reads boolean DEFAULT false NOT NULL,
    tainted boolean DEFAULT false NOT NULL,
    upto_level smallint DEFAULT 0 NOT NULL,
    upto_compartments text[] DEFAULT '{}'::text[] NOT NULL,
    context_id uuid,
    expires_at timestamp with time zone,
    made_by text NOT NULL,
    made_at timestamp with time zone NOT NULL,
    approval_id uuid,
    CONSTRAINT policy_rule_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT policy_rule_ruling_check CHECK ((ruling = ANY (ARRAY['allow'::text, 'ask'::text, 'deny'::text]))),
    CONSTRAINT policy_rule_tools_check CHECK ((cardinality(tools) > 0)),
    CONSTRAINT policy_rule_upto_level_check CHECK (((upto_level >= 0) AND (upto_level <= 3)))
);

ALTER TABLE ONLY portico.policy_rule FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.policy_rule OWNER TO portico_owner;

CREATE TABLE portico.prediction_count (
    space_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    kind text NOT NULL,
    key_hash bytea NOT NULL,
    key text NOT NULL,
    servers uuid[] NOT NULL,
    tried bigint NOT NULL,
    hit bigint NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    CONSTRAINT prediction_count_hit_check CHECK ((hit >= 0)),
    CONSTRAINT prediction_count_key_check CHECK (((length(key) >= 1) AND (length(key) <= 4000))),
    CONSTRAINT prediction_count_key_hash_check CHECK ((length(key_hash) = 32)),
    CONSTRAINT prediction_count_kind_check CHECK (((length(kind) >= 1) AND (length(kind) <= 32))),
    CONSTRAINT prediction_count_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT prediction_count_tried_check CHECK ((tried >= 0))
);

ALTER TABLE ONLY portico.prediction_count FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.prediction_count OWNER TO portico_owner;

CREATE TABLE portico.presence (
    space_id uuid NOT NULL,
    project_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    doing text NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    until timestamp with time zone NOT NULL,
    CONSTRAINT presence_doing_check CHECK ((doing = ANY (ARRAY['there'::text, 'busy'::text, 'away'::text]))),
    CONSTRAINT presence_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT presence_note_check CHECK ((length(note) <= 200))
);

ALTER TABLE ONLY portico.presence FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.presence OWNER TO portico_owner;

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
    tools text[],
    CONSTRAINT principal_kind_check CHECK ((kind = ANY (ARRAY['person'::text, 'agent'::text, 'worker'::text]))),
    CONSTRAINT principal_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT principal_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT principal_tools_check CHECK ((cardinality(tools) <= 200))
);

ALTER TABLE ONLY portico.principal FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.principal OWNER TO portico_owner;

CREATE TABLE portico.project (
    space_id uuid NOT NULL,
    project_id uuid NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    made_by uuid NOT NULL,
    made_at timestamp with time zone NOT NULL,
    archived_at timestamp with time zone,
    token bigint DEFAULT 0 NOT NULL,
    CONSTRAINT project_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT project_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)))
);

ALTER TABLE ONLY portico.project FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.project OWNER TO portico_owner;

COMMENT ON COLUMN portico.project.token IS 'of the last lease that was given in it';

CREATE TABLE portico.read_message (
    space_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    label smallint NOT NULL
);

ALTER TABLE ONLY portico.read_message FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.read_message OWNER TO portico_owner;

CREATE TABLE portico.run (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    kind text NOT NULL,
    fingerprint text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    clearance_level smallint NOT NULL,
    clearance_compartments text[] DEFAULT '{}'::text[] NOT NULL,
    scopes text[] DEFAULT '{}'::text[] NOT NULL,
    queue text NOT NULL,
    partition_key text,
    priority integer DEFAULT 0 NOT NULL,
    status text NOT NULL,
    leg integer DEFAULT 1 NOT NULL,
    claim uuid,
    executor text,
    attempts integer DEFAULT 0 NOT NULL,
    waits_for text[] DEFAULT '{}'::text[] NOT NULL,
    wakes_at timestamp with time zone,
    forked_from uuid,
    trace text,
    input json NOT NULL,
    result json,
    error json,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT run_clearance_level_check CHECK (((clearance_level >= 0) AND (clearance_level <= 3))),
    CONSTRAINT run_kind_check CHECK (((length(kind) >= 1) AND (length(kind) <= 100))),
    CONSTRAINT run_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT run_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'waiting'::text, 'done'::text, 'failed'::text, 'cancelled'::text, 'stuck'::text])))
);

ALTER TABLE ONLY portico.run FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.run OWNER TO portico_owner;

CREATE TABLE portico.run_signal (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    topic text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    principal_id uuid NOT NULL,
    payload json NOT NULL,
    sent_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT run_signal_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT run_signal_topic_check CHECK (((length(topic) >= 1) AND (length(topic) <= 200)))
);

ALTER TABLE ONLY portico.run_signal FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.run_signal OWNER TO portico_owner;

CREATE TABLE portico.run_step (
    space_id uuid NOT NULL,
    run_id uuid NOT NULL,
    name text NOT NULL,
    number integer NOT NULL,
    state text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    output json,
    error json,
    due_at timestamp with time zone,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT run_step_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT run_step_name_check CHECK (((length(name) >= 1) AND (length(name) <= 300))),
    CONSTRAINT run_step_state_check CHECK ((state = ANY (ARRAY['open'::text, 'done'::text, 'failed'::text])))
);

ALTER TABLE ONLY portico.run_step FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.run_step OWNER TO portico_owner;

CREATE TABLE portico.saved_workflow (
    space_id uuid NOT NULL,
    name text NOT NULL,
    plan json NOT NULL,
    description text NOT NULL,
    effect text NOT NULL,
    saved_by uuid NOT NULL,
    saved_by_name text NOT NULL,
    saved_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT saved_workflow_description_check CHECK ((length(description) <= 4000)),
    CONSTRAINT saved_workflow_name_check CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_-]{0,47}$'::text)),
    CONSTRAINT saved_workflow_plan_check CHECK ((json_typeof(plan) = 'object'::text))
);

ALTER TABLE ONLY portico.saved_workflow FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.saved_workflow OWNER TO portico_owner;

COMMENT ON COLUMN portico.saved_workflow.effect IS 'the worst of its steps when it was saved';

CREATE TABLE portico.schema_migration (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE portico.schema_migration OWNER TO portico_owner;

CREATE TABLE portico.server (
    space_id uuid NOT NULL,
    server_id uuid NOT NULL,
    name text NOT NULL,
    origin text NOT NULL,
    entry text,
    launch json NOT NULL,
    launch_pin text NOT NULL,
    enabled boolean NOT NULL,
    approved_launch_pin text,
    approved_launch json,
    approved_by text,
    approved_at timestamp with time zone,
    tools_accepted boolean NOT NULL,
    set_pin text,
    accepted_set_pin text,
    instructions text,
    accepted_instructions text,
    offers json NOT NULL,
    accepted_offers json NOT NULL,
    identity json,
    era text,
    timeout_seconds double precision,
    failure text,
    listed_at timestamp with time zone,
    gone_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    profile jsonb,
    unboxed jsonb,
    label_level smallint DEFAULT 0 NOT NULL,
    label_compartments text[] DEFAULT '{}'::text[] NOT NULL,
    clearance_level smallint DEFAULT 1 NOT NULL,
    clearance_compartments text[] DEFAULT '{}'::text[] NOT NULL,
    trusted boolean DEFAULT false NOT NULL,
    CONSTRAINT server_clearance_level_check CHECK (((clearance_level >= 0) AND (clearance_level <= 3))),
    CONSTRAINT server_entry_check CHECK (((length(entry) >= 1) AND (length(entry) <= 4096))),
    CONSTRAINT server_era_check CHECK ((era = ANY (ARRAY['modern'::text, 'legacy'::text]))),
    CONSTRAINT server_label_level_check CHECK (((label_level >= 0) AND (label_level <= 3))),
    CONSTRAINT server_name_check CHECK ((name ~ '^[a-z][a-z0-9-]{0,31}$'::text)),
    CONSTRAINT server_origin_check CHECK (((length(origin) >= 1) AND (length(origin) <= 4096))),
    CONSTRAINT server_profile_check CHECK ((jsonb_typeof(profile) = 'object'::text)),
    CONSTRAINT server_timeout_seconds_check CHECK ((timeout_seconds > (0)::double precision)),
    CONSTRAINT server_unboxed_check CHECK ((jsonb_typeof(unboxed) = 'object'::text))
);

ALTER TABLE ONLY portico.server FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.server OWNER TO portico_owner;

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

CREATE TABLE portico.stream (
    space_id uuid NOT NULL,
    topic text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    first bigint DEFAULT 1 NOT NULL,
    last bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT stream_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT stream_topic_check CHECK (((length(topic) >= 1) AND (length(topic) <= 200)))
)
WITH (fillfactor='50');

ALTER TABLE ONLY portico.stream FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.stream OWNER TO portico_owner;

CREATE TABLE portico.suggestion (
    space_id uuid NOT NULL,
    suggestion_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    mode text NOT NULL,
    raw double precision NOT NULL,
    backing double precision NOT NULL,
    confidence double precision NOT NULL,
    past uuid[] NOT NULL,
    result_id uuid NOT NULL,
    made_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    run_id uuid,
    outcome text,
    settled_at timestamp with time zone,
    CONSTRAINT suggestion_backing_check CHECK (((backing >= (0)::double precision) AND (backing <= (1)::double precision))),
    CONSTRAINT suggestion_confidence_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision))),
    CONSTRAINT suggestion_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT suggestion_mode_check CHECK ((mode = ANY (ARRAY['explicit_required'::text, 'suggestion'::text, 'ran_ahead'::text]))),
    CONSTRAINT suggestion_outcome_check CHECK ((outcome = ANY (ARRAY['accepted'::text, 'rejected'::text, 'modified'::text])))
);

ALTER TABLE ONLY portico.suggestion FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.suggestion OWNER TO portico_owner;

COMMENT ON COLUMN portico.suggestion.raw IS 'how sure it was before that was calibrated';

COMMENT ON COLUMN portico.suggestion.backing IS 'as much of that as the runs behind it allowed';

COMMENT ON COLUMN portico.suggestion.past IS 'the past plans that it leans on';

CREATE TABLE portico.taint_context (
    space_id uuid NOT NULL,
    context_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    name text,
    level smallint DEFAULT 0 NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    untrusted boolean DEFAULT false NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    CONSTRAINT taint_context_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT taint_context_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)))
);

ALTER TABLE ONLY portico.taint_context FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.taint_context OWNER TO portico_owner;

CREATE TABLE portico.token_subject (
    space_id uuid NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    principal_id uuid NOT NULL,
    CONSTRAINT token_subject_issuer_check CHECK (((length(issuer) >= 1) AND (length(issuer) <= 1000))),
    CONSTRAINT token_subject_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 300)))
);

ALTER TABLE ONLY portico.token_subject FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.token_subject OWNER TO portico_owner;

CREATE TABLE portico.tool (
    space_id uuid NOT NULL,
    server_id uuid NOT NULL,
    name text NOT NULL,
    "position" integer NOT NULL,
    definition json NOT NULL,
    pin text NOT NULL,
    tokens integer NOT NULL,
    effect text NOT NULL,
    accepted_definition json,
    accepted_pin text,
    refused text,
    gone boolean NOT NULL,
    CONSTRAINT tool_check CHECK (((accepted_definition IS NOT NULL) = ((accepted_pin IS NOT NULL) AND (accepted_pin <> pin)))),
    CONSTRAINT tool_effect_check CHECK ((effect = ANY (ARRAY['pure'::text, 'local_read'::text, 'external_read'::text, 'local_write'::text, 'external_write'::text, 'irreversible'::text, 'unknown'::text]))),
    CONSTRAINT tool_name_check CHECK ((length(name) > 0)),
    CONSTRAINT tool_tokens_check CHECK ((tokens >= 0))
);

ALTER TABLE ONLY portico.tool FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool OWNER TO portico_owner;

CREATE TABLE portico.tool_call (
    space_id uuid NOT NULL,
    call_id uuid NOT NULL,
    started_at timestamp with time zone NOT NULL,
    principal_id uuid NOT NULL,
    server text NOT NULL,
    tool text NOT NULL,
    effect text NOT NULL,
    pin text NOT NULL,
    arguments json NOT NULL,
    due_at timestamp with time zone,
    incarnation text NOT NULL,
    took interval,
    outcome text,
    error text,
    bytes_out bigint NOT NULL,
    context_id uuid,
    level smallint DEFAULT 0 NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT tool_call_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT tool_call_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'failed'::text, 'broken'::text, 'timed_out'::text, 'cancelled'::text, 'uncertain'::text])))
)
PARTITION BY RANGE (started_at);

ALTER TABLE ONLY portico.tool_call FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_call OWNER TO portico_owner;

CREATE TABLE portico.tool_call_other (
    space_id uuid CONSTRAINT tool_call_space_id_not_null NOT NULL,
    call_id uuid CONSTRAINT tool_call_call_id_not_null NOT NULL,
    started_at timestamp with time zone CONSTRAINT tool_call_started_at_not_null NOT NULL,
    principal_id uuid CONSTRAINT tool_call_principal_id_not_null NOT NULL,
    server text CONSTRAINT tool_call_server_not_null NOT NULL,
    tool text CONSTRAINT tool_call_tool_not_null NOT NULL,
    effect text CONSTRAINT tool_call_effect_not_null NOT NULL,
    pin text CONSTRAINT tool_call_pin_not_null NOT NULL,
    arguments json CONSTRAINT tool_call_arguments_not_null NOT NULL,
    due_at timestamp with time zone,
    incarnation text CONSTRAINT tool_call_incarnation_not_null NOT NULL,
    took interval,
    outcome text,
    error text,
    bytes_out bigint CONSTRAINT tool_call_bytes_out_not_null NOT NULL,
    context_id uuid,
    level smallint DEFAULT 0 CONSTRAINT tool_call_level_not_null NOT NULL,
    compartments text[] DEFAULT '{}'::text[] CONSTRAINT tool_call_compartments_not_null NOT NULL,
    CONSTRAINT tool_call_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT tool_call_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'failed'::text, 'broken'::text, 'timed_out'::text, 'cancelled'::text, 'uncertain'::text])))
);

ALTER TABLE ONLY portico.tool_call_other FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_call_other OWNER TO portico_owner;

CREATE TABLE portico.tool_edge (
    space_id uuid NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    earlier_id uuid NOT NULL,
    earlier_tool text NOT NULL,
    later_id uuid NOT NULL,
    later_tool text NOT NULL,
    kind text NOT NULL,
    times bigint NOT NULL,
    tasks bigint NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    CONSTRAINT tool_edge_check CHECK (((tasks >= 0) AND (tasks <= times))),
    CONSTRAINT tool_edge_earlier_tool_check CHECK ((length(earlier_tool) > 0)),
    CONSTRAINT tool_edge_kind_check CHECK ((kind = ANY (ARRAY['follows'::text, 'feeds'::text]))),
    CONSTRAINT tool_edge_later_tool_check CHECK ((length(later_tool) > 0)),
    CONSTRAINT tool_edge_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT tool_edge_times_check CHECK ((times > 0))
);

ALTER TABLE ONLY portico.tool_edge FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_edge OWNER TO portico_owner;

CREATE TABLE portico.tool_flow (
    space_id uuid NOT NULL,
    producer_id uuid NOT NULL,
    producer_tool text NOT NULL,
    path text NOT NULL,
    consumer_id uuid NOT NULL,
    consumer_tool text NOT NULL,
    parameter text NOT NULL,
    times bigint NOT NULL,
    CONSTRAINT tool_flow_consumer_tool_check CHECK ((length(consumer_tool) > 0)),
    CONSTRAINT tool_flow_parameter_check CHECK (((length(parameter) >= 1) AND (length(parameter) <= 200))),
    CONSTRAINT tool_flow_path_check CHECK ((length(path) <= 500)),
    CONSTRAINT tool_flow_producer_tool_check CHECK ((length(producer_tool) > 0)),
    CONSTRAINT tool_flow_times_check CHECK ((times > 0))
);

ALTER TABLE ONLY portico.tool_flow FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_flow OWNER TO portico_owner;

CREATE TABLE portico.tool_result (
    space_id uuid NOT NULL,
    result_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    level smallint DEFAULT 0 NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    untrusted boolean DEFAULT true NOT NULL,
    sealed bytea NOT NULL,
    CONSTRAINT tool_result_level_check CHECK (((level >= 0) AND (level <= 3)))
);
ALTER TABLE ONLY portico.tool_result ALTER COLUMN sealed SET STORAGE EXTERNAL;

ALTER TABLE ONLY portico.tool_result FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_result OWNER TO portico_owner;

CREATE TABLE portico.tool_usage (
    space_id uuid NOT NULL,
    principal_id uuid NOT NULL,
    server text NOT NULL,
    tool text NOT NULL,
    found_for text DEFAULT ''::text NOT NULL,
    found_at timestamp with time zone,
    calls double precision DEFAULT 0 NOT NULL,
    called_at timestamp with time zone
);

ALTER TABLE ONLY portico.tool_usage FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_usage OWNER TO portico_owner;

CREATE TABLE portico.work_item (
    space_id uuid NOT NULL,
    work_item_id uuid NOT NULL,
    project_id uuid NOT NULL,
    title text NOT NULL,
    body text DEFAULT ''::text NOT NULL,
    level smallint NOT NULL,
    compartments text[] DEFAULT '{}'::text[] NOT NULL,
    state text NOT NULL,
    depends uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    claimed_by uuid,
    token bigint DEFAULT 0 NOT NULL,
    outcome text DEFAULT ''::text NOT NULL,
    untrusted boolean DEFAULT false NOT NULL,
    key text,
    made_by uuid NOT NULL,
    made_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT work_item_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT work_item_state_check CHECK ((state = ANY (ARRAY['open'::text, 'claimed'::text, 'done'::text, 'dropped'::text]))),
    CONSTRAINT work_item_title_check CHECK (((length(title) >= 1) AND (length(title) <= 200)))
);

ALTER TABLE ONLY portico.work_item FORCE ROW LEVEL SECURITY;

ALTER TABLE portico.work_item OWNER TO portico_owner;

ALTER TABLE ONLY portico.event ATTACH PARTITION portico.event_other DEFAULT;

ALTER TABLE ONLY portico.tool_call ATTACH PARTITION portico.tool_call_other DEFAULT;

ALTER TABLE ONLY portico.agent_input
    ADD CONSTRAINT agent_input_pkey PRIMARY KEY (space_id, run_id, number);

ALTER TABLE ONLY portico.agent
    ADD CONSTRAINT agent_pkey PRIMARY KEY (space_id, agent_id);

ALTER TABLE ONLY portico.agent_run
    ADD CONSTRAINT agent_run_pkey PRIMARY KEY (space_id, run_id);

ALTER TABLE ONLY portico.agent
    ADD CONSTRAINT agent_space_id_name_key UNIQUE (space_id, name);

ALTER TABLE ONLY portico.agent_tool_use
    ADD CONSTRAINT agent_tool_use_pkey PRIMARY KEY (space_id, run_id, turn, place);

ALTER TABLE ONLY portico.agent_turn
    ADD CONSTRAINT agent_turn_pkey PRIMARY KEY (space_id, run_id, number);

ALTER TABLE ONLY portico.agent_version
    ADD CONSTRAINT agent_version_pkey PRIMARY KEY (space_id, agent_id, number);

ALTER TABLE ONLY portico.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (key_id);

ALTER TABLE ONLY portico.api_key
    ADD CONSTRAINT api_key_space_id_principal_id_key_id_key UNIQUE (space_id, principal_id, key_id);

ALTER TABLE ONLY portico.approval
    ADD CONSTRAINT approval_pkey PRIMARY KEY (space_id, approval_id);

ALTER TABLE ONLY portico.attachment
    ADD CONSTRAINT attachment_pkey PRIMARY KEY (space_id, digest, level, compartments);

ALTER TABLE ONLY portico.audit_entry
    ADD CONSTRAINT audit_entry_pkey PRIMARY KEY (space_id, number);

ALTER TABLE ONLY portico.audit_head
    ADD CONSTRAINT audit_head_pkey PRIMARY KEY (space_id);

ALTER TABLE ONLY portico.bridge_label
    ADD CONSTRAINT bridge_label_pkey PRIMARY KEY (space_id, number);

ALTER TABLE ONLY portico.bridge_label
    ADD CONSTRAINT bridge_label_space_id_level_compartments_key UNIQUE (space_id, level, compartments);

ALTER TABLE ONLY portico.budget
    ADD CONSTRAINT budget_pkey PRIMARY KEY (space_id, name);

ALTER TABLE ONLY portico.budget_reservation
    ADD CONSTRAINT budget_reservation_pkey PRIMARY KEY (space_id, budget, name);

ALTER TABLE ONLY portico.call_count
    ADD CONSTRAINT call_count_pkey PRIMARY KEY (space_id, subject);

ALTER TABLE ONLY portico.component_version
    ADD CONSTRAINT component_version_pkey PRIMARY KEY (name);

ALTER TABLE ONLY portico.conversation
    ADD CONSTRAINT conversation_pkey PRIMARY KEY (space_id, conversation_id);

ALTER TABLE ONLY portico.debate_cap
    ADD CONSTRAINT debate_cap_pkey PRIMARY KEY (space_id, project_id);

ALTER TABLE ONLY portico.debate_note
    ADD CONSTRAINT debate_note_pkey PRIMARY KEY (space_id, debate_id, name);

ALTER TABLE ONLY portico.debate_note
    ADD CONSTRAINT debate_note_space_id_debate_id_place_key UNIQUE (space_id, debate_id, place);

ALTER TABLE ONLY portico.debate_outcome
    ADD CONSTRAINT debate_outcome_pkey PRIMARY KEY (space_id, debate_id, number);

ALTER TABLE ONLY portico.debate_persona
    ADD CONSTRAINT debate_persona_pkey PRIMARY KEY (space_id, name);

ALTER TABLE ONLY portico.debate
    ADD CONSTRAINT debate_pkey PRIMARY KEY (space_id, debate_id);

ALTER TABLE ONLY portico.debate_question
    ADD CONSTRAINT debate_question_pkey PRIMARY KEY (space_id, debate_id, key);

ALTER TABLE ONLY portico.debate_reservation
    ADD CONSTRAINT debate_reservation_pkey PRIMARY KEY (space_id, debate_id, name);

ALTER TABLE ONLY portico.debate_seat
    ADD CONSTRAINT debate_seat_pkey PRIMARY KEY (space_id, debate_id, principal_id);

ALTER TABLE ONLY portico.debate_seat
    ADD CONSTRAINT debate_seat_space_id_debate_id_name_key UNIQUE (space_id, debate_id, name);

ALTER TABLE ONLY portico.debate_spending
    ADD CONSTRAINT debate_spending_pkey PRIMARY KEY (space_id, project_id, level, compartments);

ALTER TABLE ONLY portico.declassification
    ADD CONSTRAINT declassification_pkey PRIMARY KEY (space_id, record_id);

ALTER TABLE ONLY portico.declassification
    ADD CONSTRAINT declassification_space_id_approval_id_key UNIQUE (space_id, approval_id);

ALTER TABLE ONLY portico.declassification
    ADD CONSTRAINT declassification_space_id_copy_id_key UNIQUE (space_id, copy_id);

ALTER TABLE ONLY portico.embedding
    ADD CONSTRAINT embedding_pkey PRIMARY KEY (space_id, model, content_key);

ALTER TABLE ONLY portico.embedding_progress
    ADD CONSTRAINT embedding_progress_pkey PRIMARY KEY (space_id, conversation_id);

ALTER TABLE ONLY portico.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (space_id, topic, number, at);

ALTER TABLE ONLY portico.event_other
    ADD CONSTRAINT event_other_pkey PRIMARY KEY (space_id, topic, number, at);

ALTER TABLE ONLY portico.idempotency_record
    ADD CONSTRAINT idempotency_record_pkey PRIMARY KEY (space_id, principal_id, operation, key);

ALTER TABLE ONLY portico.inferred_schema
    ADD CONSTRAINT inferred_schema_pkey PRIMARY KEY (space_id, server_id, tool);

ALTER TABLE ONLY portico.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (space_id, lease_id);

ALTER TABLE ONLY portico.login_attempt
    ADD CONSTRAINT login_attempt_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY portico.login_client
    ADD CONSTRAINT login_client_pkey PRIMARY KEY (space_id, server_id);

ALTER TABLE ONLY portico.login
    ADD CONSTRAINT login_pkey PRIMARY KEY (space_id, principal_id, server_id);

ALTER TABLE ONLY portico.memory
    ADD CONSTRAINT memory_pkey PRIMARY KEY (space_id, project_id, key, level, compartments, version);

ALTER TABLE ONLY portico.mention
    ADD CONSTRAINT mention_pkey PRIMARY KEY (space_id, principal_id, conversation_id, seq);

ALTER TABLE ONLY portico.message_ack
    ADD CONSTRAINT message_ack_pkey PRIMARY KEY (space_id, message_id, principal_id);

ALTER TABLE ONLY portico.message
    ADD CONSTRAINT message_pkey PRIMARY KEY (space_id, conversation_id, seq);

ALTER TABLE ONLY portico.message_vector
    ADD CONSTRAINT message_vector_pkey PRIMARY KEY (space_id, message_id);

ALTER TABLE ONLY portico.message_version
    ADD CONSTRAINT message_version_pkey PRIMARY KEY (space_id, message_id, number);

ALTER TABLE ONLY portico.participant
    ADD CONSTRAINT participant_pkey PRIMARY KEY (space_id, principal_id, conversation_id);

ALTER TABLE ONLY portico.past_plan
    ADD CONSTRAINT past_plan_pkey PRIMARY KEY (space_id, plan_id);

ALTER TABLE ONLY portico.policy_rule
    ADD CONSTRAINT policy_rule_pkey PRIMARY KEY (space_id, name);

ALTER TABLE ONLY portico.prediction_count
    ADD CONSTRAINT prediction_count_pkey PRIMARY KEY (space_id, level, compartments, kind, key_hash);

ALTER TABLE ONLY portico.presence
    ADD CONSTRAINT presence_pkey PRIMARY KEY (space_id, project_id, principal_id);

ALTER TABLE ONLY portico.principal
    ADD CONSTRAINT principal_pkey PRIMARY KEY (space_id, principal_id);

ALTER TABLE ONLY portico.principal
    ADD CONSTRAINT principal_space_id_name_key UNIQUE (space_id, name);

ALTER TABLE ONLY portico.project
    ADD CONSTRAINT project_pkey PRIMARY KEY (space_id, project_id);

ALTER TABLE ONLY portico.read_message
    ADD CONSTRAINT read_message_pkey PRIMARY KEY (space_id, principal_id, conversation_id, seq);

ALTER TABLE ONLY portico.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (space_id, run_id);

ALTER TABLE ONLY portico.run
    ADD CONSTRAINT run_run_id_key UNIQUE (run_id);

ALTER TABLE ONLY portico.run_signal
    ADD CONSTRAINT run_signal_pkey PRIMARY KEY (space_id, run_id, topic);

ALTER TABLE ONLY portico.run_step
    ADD CONSTRAINT run_step_pkey PRIMARY KEY (space_id, run_id, name);

ALTER TABLE ONLY portico.saved_workflow
    ADD CONSTRAINT saved_workflow_pkey PRIMARY KEY (space_id, name);

ALTER TABLE ONLY portico.schema_migration
    ADD CONSTRAINT schema_migration_pkey PRIMARY KEY (number);

ALTER TABLE ONLY portico.server
    ADD CONSTRAINT server_pkey PRIMARY KEY (space_id, server_id);

ALTER TABLE ONLY portico.server
    ADD CONSTRAINT server_space_id_name_key UNIQUE (space_id, name);

ALTER TABLE ONLY portico.server
    ADD CONSTRAINT server_space_id_origin_entry_key UNIQUE (space_id, origin, entry);

ALTER TABLE ONLY portico.setting
    ADD CONSTRAINT setting_pkey PRIMARY KEY (space_id, name);

ALTER TABLE ONLY portico.space
    ADD CONSTRAINT space_pkey PRIMARY KEY (space_id);

ALTER TABLE ONLY portico.stream
    ADD CONSTRAINT stream_pkey PRIMARY KEY (space_id, topic);

ALTER TABLE ONLY portico.suggestion
    ADD CONSTRAINT suggestion_pkey PRIMARY KEY (space_id, suggestion_id);

ALTER TABLE ONLY portico.taint_context
    ADD CONSTRAINT taint_context_pkey PRIMARY KEY (space_id, context_id);

ALTER TABLE ONLY portico.token_subject
    ADD CONSTRAINT token_subject_pkey PRIMARY KEY (space_id, issuer, subject);

ALTER TABLE ONLY portico.tool_call
    ADD CONSTRAINT tool_call_pkey PRIMARY KEY (space_id, call_id, started_at);

ALTER TABLE ONLY portico.tool_call_other
    ADD CONSTRAINT tool_call_other_pkey PRIMARY KEY (space_id, call_id, started_at);

ALTER TABLE ONLY portico.tool_edge
    ADD CONSTRAINT tool_edge_pkey PRIMARY KEY (space_id, earlier_id, earlier_tool, later_id, later_tool, kind, level, compartments);

ALTER TABLE ONLY portico.tool_flow
    ADD CONSTRAINT tool_flow_pkey PRIMARY KEY (space_id, consumer_id, consumer_tool, parameter, producer_id, producer_tool, path);

ALTER TABLE ONLY portico.tool
    ADD CONSTRAINT tool_pkey PRIMARY KEY (space_id, server_id, name);

ALTER TABLE ONLY portico.tool_result
    ADD CONSTRAINT tool_result_pkey PRIMARY KEY (space_id, result_id);

ALTER TABLE ONLY portico.tool_usage
    ADD CONSTRAINT tool_usage_pkey PRIMARY KEY (space_id, principal_id, server, tool);

ALTER TABLE ONLY portico.work_item
    ADD CONSTRAINT work_item_pkey PRIMARY KEY (space_id, work_item_id);

CREATE INDEX agent_input_words ON portico.agent_input USING gin (((to_tsvector('simple'::regconfig, "left"(text, 100000)) || array_to_tsvector(ARRAY[('~'::text || (space_id)::text)]))));

CREATE INDEX agent_run_by_age ON portico.agent_run USING btree (started_at);

CREATE INDEX agent_run_by_agent ON portico.agent_run USING btree (space_id, agent_name, started_at, run_id);

CREATE INDEX agent_run_by_starter ON portico.agent_run USING btree (space_id, started_by, started_at, run_id);

CREATE INDEX agent_run_newest ON portico.agent_run USING btree (space_id, started_at, run_id);

CREATE INDEX agent_tool_use_words ON portico.agent_tool_use USING gin (((to_tsvector('simple'::regconfig, "left"(text, 100000)) || array_to_tsvector(ARRAY[('~'::text || (space_id)::text)]))));

CREATE INDEX agent_turn_words ON portico.agent_turn USING gin (((to_tsvector('simple'::regconfig, "left"(text, 100000)) || array_to_tsvector(ARRAY[('~'::text || (space_id)::text)]))));

CREATE INDEX api_key_by_age ON portico.api_key USING btree (space_id, created_at, key_id);

CREATE INDEX api_key_by_opener ON portico.api_key USING btree (space_id, opened_with) WHERE (opened_with IS NOT NULL);

CREATE INDEX approval_by_age ON portico.approval USING btree (asked_at);

CREATE INDEX approval_by_call ON portico.approval USING btree (space_id, principal_id, context_id, hash, approval_id);

CREATE INDEX approval_of_run ON portico.approval USING btree (space_id, waiter_run) WHERE (waiter_run IS NOT NULL);

CREATE UNIQUE INDEX approval_of_waiter ON portico.approval USING btree (space_id, waiter_run, waiter_topic) WHERE ((replaces IS NULL) AND (waiter_run IS NOT NULL));

CREATE UNIQUE INDEX approval_open ON portico.approval USING btree (space_id, principal_id, context_id, hash) WHERE ((status = ANY (ARRAY['waiting'::text, 'approved'::text])) AND (collected_at IS NULL) AND ((outcome IS NULL) OR (outcome = 'uncertain'::text)) AND (waiter_run IS NULL));

CREATE INDEX approval_waiting ON portico.approval USING btree (space_id, principal_id) WHERE (status = 'waiting'::text);

CREATE INDEX conversation_of_project ON portico.conversation USING btree (space_id, project_id);

CREATE INDEX debate_by_age ON portico.debate USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX debate_newest ON portico.debate USING btree (space_id, started_at, debate_id) WHERE (part_of IS NULL);

CREATE INDEX debate_of_project ON portico.debate USING btree (space_id, project_id) WHERE (project_id IS NOT NULL);

CREATE INDEX debate_outcome_newest ON portico.debate_outcome USING btree (space_id, at);

CREATE INDEX debate_parts ON portico.debate USING btree (space_id, part_of) WHERE (part_of IS NOT NULL);

CREATE INDEX debate_reservation_of_whole ON portico.debate_reservation USING btree (space_id, whole_id);

CREATE INDEX declassification_of ON portico.declassification USING btree (space_id, source_id);

CREATE INDEX idempotency_record_by_age ON portico.idempotency_record USING btree (created_at);

CREATE INDEX lease_of_project ON portico.lease USING btree (space_id, project_id, expires_at);

CREATE INDEX login_attempt_by_age ON portico.login_attempt USING btree (expires_at);

CREATE INDEX login_attempt_by_place ON portico.login_attempt USING btree (space_id, principal_id, server_id, begun_at);

CREATE INDEX memory_by_age ON portico.memory USING btree (written_at);

CREATE INDEX memory_words ON portico.memory USING gin ((((to_tsvector('simple'::regconfig, translate(key, '/._:-'::text, '     '::text)) || COALESCE(json_to_tsvector('simple'::regconfig, value, '["all"]'::jsonb), ''::tsvector)) || array_to_tsvector(ARRAY[('~'::text || (space_id)::text), ('~'::text || (project_id)::text)]))));

CREATE INDEX mention_by_message ON portico.mention USING btree (space_id, conversation_id, seq);

CREATE INDEX message_attachments ON portico.message USING gin (attachments) WHERE (attachments <> '{}'::text[]);

CREATE UNIQUE INDEX message_by_id ON portico.message USING btree (space_id, message_id);

CREATE INDEX message_by_key ON portico.message USING btree (space_id, sender, key) WHERE (key IS NOT NULL);

CREATE INDEX message_by_label ON portico.message USING btree (space_id, conversation_id, label, seq);

CREATE INDEX message_by_thread ON portico.message USING btree (space_id, thread, label, seq) WHERE (thread IS NOT NULL);

CREATE INDEX message_newest ON portico.message USING btree (space_id, sent_at, message_id);

CREATE INDEX message_to_acknowledge ON portico.message USING btree (space_id, acknowledge_by) WHERE ((owing <> '{}'::uuid[]) AND (deleted_at IS NULL));

CREATE INDEX message_vector_by_conversation ON portico.message_vector USING btree (space_id, conversation_id);

CREATE INDEX message_vector_by_label ON portico.message_vector USING btree (space_id, label, model) WHERE (NOT closed);

CREATE INDEX message_vector_stale ON portico.message_vector USING btree (space_id) WHERE stale;

CREATE INDEX message_words ON portico.message USING gin (words) WITH (gin_pending_list_limit='256');

CREATE INDEX participant_of_conversation ON portico.participant USING btree (space_id, conversation_id);

CREATE INDEX past_plan_by_age ON portico.past_plan USING btree (space_id, principal_id, last_at);

CREATE UNIQUE INDEX project_name ON portico.project USING btree (space_id, name, level, compartments);

CREATE INDEX read_message_by_message ON portico.read_message USING btree (space_id, conversation_id, seq);

CREATE INDEX run_by_age ON portico.run USING btree (space_id, created_at, run_id);

CREATE INDEX run_finished ON portico.run USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX run_in_flight ON portico.run USING btree (changed_at) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));

CREATE INDEX run_wakes ON portico.run USING btree (wakes_at) WHERE ((status = 'waiting'::text) AND (wakes_at IS NOT NULL));

CREATE INDEX suggestion_by_age ON portico.suggestion USING btree (made_at);

CREATE INDEX suggestion_by_run ON portico.suggestion USING btree (space_id, run_id) WHERE (run_id IS NOT NULL);

CREATE INDEX suggestion_latest ON portico.suggestion USING btree (space_id, principal_id, made_at);

CREATE INDEX taint_context_by_principal ON portico.taint_context USING btree (space_id, principal_id, opened_at);

CREATE INDEX tool_call_by_age ON ONLY portico.tool_call USING btree (space_id, started_at);

CREATE INDEX tool_call_by_principal ON ONLY portico.tool_call USING btree (space_id, principal_id, started_at);

CREATE INDEX tool_call_by_tool ON ONLY portico.tool_call USING btree (space_id, server, tool, started_at);

CREATE INDEX tool_call_other_space_id_principal_id_started_at_idx ON portico.tool_call_other USING btree (space_id, principal_id, started_at);

CREATE INDEX tool_call_other_space_id_server_tool_started_at_idx ON portico.tool_call_other USING btree (space_id, server, tool, started_at);

CREATE INDEX tool_call_other_space_id_started_at_idx ON portico.tool_call_other USING btree (space_id, started_at);

CREATE INDEX tool_edge_by_later ON portico.tool_edge USING btree (space_id, later_id);

CREATE INDEX tool_flow_by_producer ON portico.tool_flow USING btree (space_id, producer_id);

CREATE INDEX tool_result_by_age ON portico.tool_result USING btree (expires_at);

CREATE UNIQUE INDEX work_item_key ON portico.work_item USING btree (space_id, made_by, key, level, compartments) WHERE (key IS NOT NULL);

CREATE INDEX work_item_of_project ON portico.work_item USING btree (space_id, project_id, work_item_id);

ALTER INDEX portico.event_pkey ATTACH PARTITION portico.event_other_pkey;

ALTER INDEX portico.tool_call_pkey ATTACH PARTITION portico.tool_call_other_pkey;

ALTER INDEX portico.tool_call_by_principal ATTACH PARTITION portico.tool_call_other_space_id_principal_id_started_at_idx;

ALTER INDEX portico.tool_call_by_tool ATTACH PARTITION portico.tool_call_other_space_id_server_tool_started_at_idx;

ALTER INDEX portico.tool_call_by_age ATTACH PARTITION portico.tool_call_other_space_id_started_at_idx;

CREATE TRIGGER uncounted AFTER DELETE ON portico.server REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION portico.uncount_servers();

ALTER TABLE ONLY portico.agent_input
    ADD CONSTRAINT agent_input_space_id_run_id_fkey FOREIGN KEY (space_id, run_id) REFERENCES portico.agent_run(space_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.agent_run
    ADD CONSTRAINT agent_run_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.agent
    ADD CONSTRAINT agent_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.agent_tool_use
    ADD CONSTRAINT agent_tool_use_space_id_run_id_fkey FOREIGN KEY (space_id, run_id) REFERENCES portico.agent_run(space_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.agent_turn
    ADD CONSTRAINT agent_turn_space_id_run_id_fkey FOREIGN KEY (space_id, run_id) REFERENCES portico.agent_run(space_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.agent_version
    ADD CONSTRAINT agent_version_space_id_agent_id_fkey FOREIGN KEY (space_id, agent_id) REFERENCES portico.agent(space_id, agent_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.api_key
    ADD CONSTRAINT api_key_space_id_elicits_for_fkey FOREIGN KEY (space_id, elicits_for) REFERENCES portico.principal(space_id, principal_id) ON DELETE SET NULL (elicits_for);

ALTER TABLE ONLY portico.api_key
    ADD CONSTRAINT api_key_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.api_key
    ADD CONSTRAINT api_key_space_id_principal_id_opened_with_fkey FOREIGN KEY (space_id, principal_id, opened_with) REFERENCES portico.api_key(space_id, principal_id, key_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.approval
    ADD CONSTRAINT approval_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.attachment
    ADD CONSTRAINT attachment_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.audit_entry
    ADD CONSTRAINT audit_entry_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.audit_head
    ADD CONSTRAINT audit_head_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.bridge_label
    ADD CONSTRAINT bridge_label_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.budget_reservation
    ADD CONSTRAINT budget_reservation_space_id_budget_fkey FOREIGN KEY (space_id, budget) REFERENCES portico.budget(space_id, name) ON DELETE CASCADE;

ALTER TABLE ONLY portico.budget
    ADD CONSTRAINT budget_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.call_count
    ADD CONSTRAINT call_count_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.conversation
    ADD CONSTRAINT conversation_space_id_project_id_fkey FOREIGN KEY (space_id, project_id) REFERENCES portico.project(space_id, project_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.debate_cap
    ADD CONSTRAINT debate_cap_space_id_project_id_fkey FOREIGN KEY (space_id, project_id) REFERENCES portico.project(space_id, project_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.debate_note
    ADD CONSTRAINT debate_note_space_id_debate_id_fkey FOREIGN KEY (space_id, debate_id) REFERENCES portico.debate(space_id, debate_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.debate_outcome
    ADD CONSTRAINT debate_outcome_space_id_debate_id_fkey FOREIGN KEY (space_id, debate_id) REFERENCES portico.debate(space_id, debate_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.debate_persona
    ADD CONSTRAINT debate_persona_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.debate_question
    ADD CONSTRAINT debate_question_space_id_debate_id_principal_id_fkey FOREIGN KEY (space_id, debate_id, principal_id) REFERENCES portico.debate_seat(space_id, debate_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.debate_reservation
    ADD CONSTRAINT debate_reservation_space_id_debate_id_fkey FOREIGN KEY (space_id, debate_id) REFERENCES portico.debate(space_id, debate_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.debate_seat
    ADD CONSTRAINT debate_seat_space_id_debate_id_fkey FOREIGN KEY (space_id, debate_id) REFERENCES portico.debate(space_id, debate_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.debate_seat
    ADD CONSTRAINT debate_seat_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.debate
    ADD CONSTRAINT debate_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.debate
    ADD CONSTRAINT debate_space_id_part_of_fkey FOREIGN KEY (space_id, part_of) REFERENCES portico.debate(space_id, debate_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.debate
    ADD CONSTRAINT debate_space_id_project_id_fkey FOREIGN KEY (space_id, project_id) REFERENCES portico.project(space_id, project_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.debate_spending
    ADD CONSTRAINT debate_spending_space_id_project_id_fkey FOREIGN KEY (space_id, project_id) REFERENCES portico.project(space_id, project_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.declassification
    ADD CONSTRAINT declassification_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.embedding_progress
    ADD CONSTRAINT embedding_progress_space_id_conversation_id_fkey FOREIGN KEY (space_id, conversation_id) REFERENCES portico.conversation(space_id, conversation_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.embedding
    ADD CONSTRAINT embedding_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE portico.event
    ADD CONSTRAINT event_space_id_topic_fkey FOREIGN KEY (space_id, topic) REFERENCES portico.stream(space_id, topic) ON DELETE CASCADE;

ALTER TABLE ONLY portico.idempotency_record
    ADD CONSTRAINT idempotency_record_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.inferred_schema
    ADD CONSTRAINT inferred_schema_space_id_server_id_fkey FOREIGN KEY (space_id, server_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.lease
    ADD CONSTRAINT lease_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.lease
    ADD CONSTRAINT lease_space_id_project_id_fkey FOREIGN KEY (space_id, project_id) REFERENCES portico.project(space_id, project_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.login_attempt
    ADD CONSTRAINT login_attempt_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.login_attempt
    ADD CONSTRAINT login_attempt_space_id_server_id_fkey FOREIGN KEY (space_id, server_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.login_client
    ADD CONSTRAINT login_client_space_id_server_id_fkey FOREIGN KEY (space_id, server_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.login
    ADD CONSTRAINT login_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.login
    ADD CONSTRAINT login_space_id_server_id_fkey FOREIGN KEY (space_id, server_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.memory
    ADD CONSTRAINT memory_space_id_project_id_fkey FOREIGN KEY (space_id, project_id) REFERENCES portico.project(space_id, project_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.mention
    ADD CONSTRAINT mention_space_id_principal_id_conversation_id_fkey FOREIGN KEY (space_id, principal_id, conversation_id) REFERENCES portico.participant(space_id, principal_id, conversation_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.message_ack
    ADD CONSTRAINT message_ack_space_id_message_id_fkey FOREIGN KEY (space_id, message_id) REFERENCES portico.message(space_id, message_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.message_ack
    ADD CONSTRAINT message_ack_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.message
    ADD CONSTRAINT message_space_id_conversation_id_fkey FOREIGN KEY (space_id, conversation_id) REFERENCES portico.conversation(space_id, conversation_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.message_vector
    ADD CONSTRAINT message_vector_space_id_message_id_fkey FOREIGN KEY (space_id, message_id) REFERENCES portico.message(space_id, message_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.message_version
    ADD CONSTRAINT message_version_space_id_message_id_fkey FOREIGN KEY (space_id, message_id) REFERENCES portico.message(space_id, message_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.participant
    ADD CONSTRAINT participant_space_id_conversation_id_fkey FOREIGN KEY (space_id, conversation_id) REFERENCES portico.conversation(space_id, conversation_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.participant
    ADD CONSTRAINT participant_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.past_plan
    ADD CONSTRAINT past_plan_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.policy_rule
    ADD CONSTRAINT policy_rule_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.prediction_count
    ADD CONSTRAINT prediction_count_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.presence
    ADD CONSTRAINT presence_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.presence
    ADD CONSTRAINT presence_space_id_project_id_fkey FOREIGN KEY (space_id, project_id) REFERENCES portico.project(space_id, project_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.principal
    ADD CONSTRAINT principal_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.project
    ADD CONSTRAINT project_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.read_message
    ADD CONSTRAINT read_message_space_id_principal_id_conversation_id_fkey FOREIGN KEY (space_id, principal_id, conversation_id) REFERENCES portico.participant(space_id, principal_id, conversation_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.run_signal
    ADD CONSTRAINT run_signal_space_id_run_id_fkey FOREIGN KEY (space_id, run_id) REFERENCES portico.run(space_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.run
    ADD CONSTRAINT run_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.run_step
    ADD CONSTRAINT run_step_space_id_run_id_fkey FOREIGN KEY (space_id, run_id) REFERENCES portico.run(space_id, run_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.saved_workflow
    ADD CONSTRAINT saved_workflow_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.server
    ADD CONSTRAINT server_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.setting
    ADD CONSTRAINT setting_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.stream
    ADD CONSTRAINT stream_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.suggestion
    ADD CONSTRAINT suggestion_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.taint_context
    ADD CONSTRAINT taint_context_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.token_subject
    ADD CONSTRAINT token_subject_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE portico.tool_call
    ADD CONSTRAINT tool_call_space_id_fkey FOREIGN KEY (space_id) REFERENCES portico.space(space_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool_edge
    ADD CONSTRAINT tool_edge_space_id_earlier_id_fkey FOREIGN KEY (space_id, earlier_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool_edge
    ADD CONSTRAINT tool_edge_space_id_later_id_fkey FOREIGN KEY (space_id, later_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool_flow
    ADD CONSTRAINT tool_flow_space_id_consumer_id_fkey FOREIGN KEY (space_id, consumer_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool_flow
    ADD CONSTRAINT tool_flow_space_id_producer_id_fkey FOREIGN KEY (space_id, producer_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool_result
    ADD CONSTRAINT tool_result_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool
    ADD CONSTRAINT tool_space_id_server_id_fkey FOREIGN KEY (space_id, server_id) REFERENCES portico.server(space_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.tool_usage
    ADD CONSTRAINT tool_usage_space_id_principal_id_fkey FOREIGN KEY (space_id, principal_id) REFERENCES portico.principal(space_id, principal_id) ON DELETE CASCADE;

ALTER TABLE ONLY portico.work_item
    ADD CONSTRAINT work_item_space_id_claimed_by_fkey FOREIGN KEY (space_id, claimed_by) REFERENCES portico.principal(space_id, principal_id) ON DELETE SET NULL (claimed_by);

ALTER TABLE ONLY portico.work_item
    ADD CONSTRAINT work_item_space_id_project_id_fkey FOREIGN KEY (space_id, project_id) REFERENCES portico.project(space_id, project_id) ON DELETE CASCADE;

ALTER TABLE portico.agent ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_input ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_run ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_tool_use ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_turn ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.agent_version ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.api_key ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.approval ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.attachment ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.audit_entry ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.audit_head ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.bridge_label ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.budget ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.budget_reservation ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.call_count ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.conversation ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.debate ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_cap ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_note ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_outcome ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_persona ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_question ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_reservation ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_seat ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.debate_spending ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.declassification ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.embedding ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.embedding_progress ENABLE ROW LEVEL SECURITY;

CREATE POLICY engine_door ON portico.agent_run TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.approval TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.event TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.idempotency_record TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.past_plan TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.prediction_count TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.run TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.stream TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.suggestion TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.tool_call TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.tool_edge TO portico_engine USING (true) WITH CHECK (true);

CREATE POLICY engine_door ON portico.tool_result TO portico_engine USING (true) WITH CHECK (true);

ALTER TABLE portico.event ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.event_other ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.idempotency_record ENABLE ROW LEVEL SECURITY;

CREATE POLICY in_sight ON portico.debate AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (((started_by = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")) AND ((part_of IS NULL) OR portico.own_debate(part_of)) AND ((project_id IS NULL) OR (EXISTS ( SELECT
   FROM portico.project p
  WHERE ((p.space_id = debate.space_id) AND (p.project_id = debate.project_id) AND (p.level <= debate.level) AND (p.compartments <@ debate.compartments)))))));

ALTER TABLE portico.inferred_schema ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.lease ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.login ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.login_attempt ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.login_client ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.memory ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.mention ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.message ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.message_ack ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.message_vector ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.message_version ENABLE ROW LEVEL SECURITY;

CREATE POLICY no_change_down ON portico.conversation AS RESTRICTIVE FOR UPDATE TO portico_app USING (true) WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_change_down ON portico.debate AS RESTRICTIVE FOR UPDATE TO portico_app USING (true) WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_change_down ON portico.debate_cap AS RESTRICTIVE FOR UPDATE TO portico_app USING (true) WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_change_down ON portico.project AS RESTRICTIVE FOR UPDATE TO portico_app USING (true) WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down ON portico.attachment AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down ON portico.debate AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down ON portico.debate_cap AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down ON portico.debate_outcome AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down ON portico.debate_question AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down ON portico.lease AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down ON portico.memory AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down ON portico.presence AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down ON portico.project AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down ON portico.work_item AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down_last ON portico.lease AS RESTRICTIVE FOR DELETE TO portico_app USING (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down_later ON portico.lease AS RESTRICTIVE FOR UPDATE TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down_later ON portico.presence AS RESTRICTIVE FOR UPDATE TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY no_write_down_later ON portico.work_item AS RESTRICTIVE FOR UPDATE TO portico_app WITH CHECK (portico.mark_covered(level, compartments));

CREATE POLICY own_to_remove ON portico.debate AS RESTRICTIVE FOR DELETE TO portico_app USING (((started_by = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")) AND portico.mark_covered(level, compartments)));

CREATE POLICY owner_door ON portico.agent TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.agent_input TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.agent_run TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.agent_tool_use TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.agent_turn TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.agent_version TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.api_key TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.approval TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.attachment TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.audit_entry TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.audit_head TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.bridge_label TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.budget TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.budget_reservation TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.call_count TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.conversation TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.debate TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.debate_cap TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.debate_note TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.debate_outcome TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.debate_persona TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.debate_question TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.debate_reservation TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.debate_seat TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.debate_spending TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.declassification TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.embedding TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.embedding_progress TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.event TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.event_other TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.idempotency_record TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.inferred_schema TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.lease TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.login TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.login_attempt TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.login_client TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.memory TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.mention TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.message TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.message_ack TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.message_vector TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.message_version TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.participant TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.past_plan TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.policy_rule TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.prediction_count TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.presence TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.principal TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.project TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.read_message TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.run TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.run_signal TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.run_step TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.saved_workflow TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.server TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.setting TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.space TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.stream TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.suggestion TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.taint_context TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.token_subject TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool_call TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool_call_other TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool_edge TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool_flow TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool_result TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.tool_usage TO portico_owner USING (true) WITH CHECK (true);

CREATE POLICY owner_door ON portico.work_item TO portico_owner USING (true) WITH CHECK (true);

ALTER TABLE portico.participant ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.past_plan ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.policy_rule ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.prediction_count ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.presence ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.principal ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.project ENABLE ROW LEVEL SECURITY;

CREATE POLICY public_to_add ON portico.debate_persona AS RESTRICTIVE FOR INSERT TO portico_app WITH CHECK (portico.mark_covered((0)::smallint, '{}'::text[]));

CREATE POLICY public_to_change ON portico.debate_persona AS RESTRICTIVE FOR UPDATE TO portico_app USING (true) WITH CHECK (portico.mark_covered((0)::smallint, '{}'::text[]));

CREATE POLICY public_to_remove ON portico.debate_persona AS RESTRICTIVE FOR DELETE TO portico_app USING (portico.mark_covered((0)::smallint, '{}'::text[]));

ALTER TABLE portico.read_message ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.run ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.run_signal ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.run_step ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.saved_workflow ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.server ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.setting ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.space ENABLE ROW LEVEL SECURITY;

CREATE POLICY space_wall ON portico.agent USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.agent_input USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.agent_run USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.agent_tool_use USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.agent_turn USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.agent_version USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.api_key USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.approval USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.attachment USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.audit_entry USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.audit_head USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.bridge_label USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.budget USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.budget_reservation USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.call_count USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.conversation USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND
CASE
    WHEN closed THEN (conversation_id = ANY (( SELECT portico.own_conversations() AS own_conversations)::uuid[]))
    ELSE true
END)) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND
CASE
    WHEN closed THEN (conversation_id = ANY (( SELECT portico.own_conversations() AS own_conversations)::uuid[]))
    ELSE true
END));

CREATE POLICY space_wall ON portico.debate USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND
CASE
    WHEN private THEN (started_by = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))
    ELSE true
END)) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND
CASE
    WHEN private THEN (started_by = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))
    ELSE true
END));

CREATE POLICY space_wall ON portico.debate_cap USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.debate_note USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (EXISTS ( SELECT
   FROM portico.debate d
  WHERE ((d.space_id = debate_note.space_id) AND (d.debate_id = debate_note.debate_id)))))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (EXISTS ( SELECT
   FROM portico.debate d
  WHERE ((d.space_id = debate_note.space_id) AND (d.debate_id = debate_note.debate_id))))));

CREATE POLICY space_wall ON portico.debate_outcome USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (EXISTS ( SELECT
   FROM portico.debate d
  WHERE ((d.space_id = debate_outcome.space_id) AND (d.debate_id = debate_outcome.debate_id)))))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (EXISTS ( SELECT
   FROM portico.debate d
  WHERE ((d.space_id = debate_outcome.space_id) AND (d.debate_id = debate_outcome.debate_id))))));

CREATE POLICY space_wall ON portico.debate_persona USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.debate_question USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND
CASE
    WHEN (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")) THEN true
    ELSE (EXISTS ( SELECT
       FROM portico.debate d
      WHERE ((d.space_id = debate_question.space_id) AND (d.debate_id = debate_question.debate_id))))
END)) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND
CASE
    WHEN (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")) THEN true
    ELSE (EXISTS ( SELECT
       FROM portico.debate d
      WHERE ((d.space_id = debate_question.space_id) AND (d.debate_id = debate_question.debate_id))))
END));

CREATE POLICY space_wall ON portico.debate_reservation USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (EXISTS ( SELECT
   FROM portico.debate d
  WHERE ((d.space_id = debate_reservation.space_id) AND (d.debate_id = debate_reservation.debate_id)))))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (EXISTS ( SELECT
   FROM portico.debate d
  WHERE ((d.space_id = debate_reservation.space_id) AND (d.debate_id = debate_reservation.debate_id))))));

CREATE POLICY space_wall ON portico.debate_seat USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND
CASE
    WHEN (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")) THEN true
    ELSE (EXISTS ( SELECT
       FROM portico.debate d
      WHERE ((d.space_id = debate_seat.space_id) AND (d.debate_id = debate_seat.debate_id))))
END)) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND
CASE
    WHEN (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")) THEN true
    ELSE (EXISTS ( SELECT
       FROM portico.debate d
      WHERE ((d.space_id = debate_seat.space_id) AND (d.debate_id = debate_seat.debate_id))))
END));

CREATE POLICY space_wall ON portico.debate_spending USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.declassification USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.embedding USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.embedding_progress USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (EXISTS ( SELECT
   FROM portico.conversation c
  WHERE ((c.space_id = embedding_progress.space_id) AND (c.conversation_id = embedding_progress.conversation_id)))))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (EXISTS ( SELECT
   FROM portico.conversation c
  WHERE ((c.space_id = embedding_progress.space_id) AND (c.conversation_id = embedding_progress.conversation_id))))));

CREATE POLICY space_wall ON portico.event USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.event_other USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.idempotency_record USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.inferred_schema USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.lease USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.login USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.login_attempt USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.login_client USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.memory USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.mention USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")) AND (label = ANY (ARRAY( SELECT l.number
   FROM portico.bridge_label l))))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")) AND (label = ANY (ARRAY( SELECT l.number
   FROM portico.bridge_label l)))));

CREATE POLICY space_wall ON portico.message USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND
CASE
    WHEN closed THEN (conversation_id = ANY (( SELECT portico.own_conversations() AS own_conversations)::uuid[]))
    ELSE true
END)) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND
CASE
    WHEN closed THEN (conversation_id = ANY (( SELECT portico.own_conversations() AS own_conversations)::uuid[]))
    ELSE true
END));

CREATE POLICY space_wall ON portico.message_ack USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (EXISTS ( SELECT
   FROM portico.message m
  WHERE ((m.space_id = message_ack.space_id) AND (m.message_id = message_ack.message_id)))))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (EXISTS ( SELECT
   FROM portico.message m
  WHERE ((m.space_id = message_ack.space_id) AND (m.message_id = message_ack.message_id))))));

CREATE POLICY space_wall ON portico.message_vector USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND
CASE
    WHEN closed THEN (conversation_id = ANY (( SELECT portico.own_conversations() AS own_conversations)::uuid[]))
    ELSE true
END)) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND
CASE
    WHEN closed THEN (conversation_id = ANY (( SELECT portico.own_conversations() AS own_conversations)::uuid[]))
    ELSE true
END));

CREATE POLICY space_wall ON portico.message_version USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (EXISTS ( SELECT
   FROM portico.message m
  WHERE ((m.space_id = message_version.space_id) AND (m.message_id = message_version.message_id)))))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (EXISTS ( SELECT
   FROM portico.message m
  WHERE ((m.space_id = message_version.space_id) AND (m.message_id = message_version.message_id))))));

CREATE POLICY space_wall ON portico.participant USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (EXISTS ( SELECT
   FROM portico.conversation c
  WHERE ((c.space_id = participant.space_id) AND (c.conversation_id = participant.conversation_id)))))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (EXISTS ( SELECT
   FROM portico.conversation c
  WHERE ((c.space_id = participant.space_id) AND (c.conversation_id = participant.conversation_id))))));

CREATE POLICY space_wall ON portico.past_plan USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.policy_rule USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.prediction_count USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.presence USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.principal USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.project USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.read_message USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")) AND (label = ANY (ARRAY( SELECT l.number
   FROM portico.bridge_label l))))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")) AND (label = ANY (ARRAY( SELECT l.number
   FROM portico.bridge_label l)))));

CREATE POLICY space_wall ON portico.run USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.run_signal USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.run_step USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.saved_workflow USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.server USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.setting USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.space USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.stream USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.suggestion USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.taint_context USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.token_subject USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.tool USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.tool_call USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.tool_call_other USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.tool_edge USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

CREATE POLICY space_wall ON portico.tool_flow USING ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif"))) WITH CHECK ((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY space_wall ON portico.tool_result USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.tool_usage USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif")))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (principal_id = ( SELECT (NULLIF(current_setting('portico.principal'::text, true), ''::text))::uuid AS "nullif"))));

CREATE POLICY space_wall ON portico.work_item USING (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array)))) WITH CHECK (((space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid AS "nullif")) AND (level <= ( SELECT (COALESCE(NULLIF(current_setting('portico.level'::text, true), ''::text), '-1'::text))::smallint AS "coalesce")) AND (compartments <@ ( SELECT string_to_array(COALESCE(current_setting('portico.compartments'::text, true), ''::text), ','::text) AS string_to_array))));

ALTER TABLE portico.stream ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.suggestion ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.taint_context ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.token_subject ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_call ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_call_other ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_edge ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_flow ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_result ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.tool_usage ENABLE ROW LEVEL SECURITY;

ALTER TABLE portico.work_item ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA portico TO portico_app;
GRANT USAGE ON SCHEMA portico TO portico_engine;

REVOKE ALL ON FUNCTION portico.append_audit(acts text[], OUT number bigint, OUT hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.append_audit(acts text[], OUT number bigint, OUT hash bytea) TO portico_app;

REVOKE ALL ON FUNCTION portico.append_event(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_topic text, topic_level smallint, topic_compartments text[], its_event uuid, its_type text, its_level smallint, its_compartments text[], its_facts json) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.append_event(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_topic text, topic_level smallint, topic_compartments text[], its_event uuid, its_type text, its_level smallint, its_compartments text[], its_facts json) TO portico_app;

REVOKE ALL ON FUNCTION portico.append_events(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, entries json) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.append_events(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, entries json) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_acknowledge(its_id uuid, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_acknowledge(its_id uuid, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_active(its_project uuid, wanted uuid[], clear_level smallint, clear_compartments text[], clear_closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_active(its_project uuid, wanted uuid[], clear_level smallint, clear_compartments text[], clear_closed boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_change(its_id uuid, its_body text, to_level smallint, to_compartments text[], its_untrusted boolean, gone boolean, others boolean, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_change(its_id uuid, its_body text, to_level smallint, to_compartments text[], its_untrusted boolean, gone boolean, others boolean, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_compartments() FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_compartments() TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_declassify(its_record uuid, its_approval uuid, its_source uuid, its_copy uuid, to_level smallint, to_compartments text[], its_body text, its_sender_name text, its_rules text[], its_signature text, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_declassify(its_record uuid, its_approval uuid, its_source uuid, its_copy uuid, to_level smallint, to_compartments text[], its_body text, its_sender_name text, its_rules text[], its_signature text, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_embed(its_model text, ids uuid[], ats timestamp with time zone[], vectors text[], clear_level smallint, clear_compartments text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_embed(its_model text, ids uuid[], ats timestamp with time zone[], vectors text[], clear_level smallint, clear_compartments text[]) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_end(wanted uuid, clear_level smallint, clear_compartments text[], clear_closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_end(wanted uuid, clear_level smallint, clear_compartments text[], clear_closed boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_find(words text, its_project uuid, its_conversation uuid, most integer, clear_level smallint, clear_compartments text[], clear_closed boolean, whole_level smallint, whole_compartments text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_find(words text, its_project uuid, its_conversation uuid, most integer, clear_level smallint, clear_compartments text[], clear_closed boolean, whole_level smallint, whole_compartments text[]) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_find_memory(words text, wanted_project uuid, its_level smallint, its_compartments text[], now timestamp with time zone, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_find_memory(words text, wanted_project uuid, its_level smallint, its_compartments text[], now timestamp with time zone, most integer) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_forget(older_than interval, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_forget(older_than interval, most integer) TO portico_engine;

REVOKE ALL ON FUNCTION portico.bridge_forget_attachments(older_than interval, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_forget_attachments(older_than interval, most integer) TO portico_engine;

REVOKE ALL ON FUNCTION portico.bridge_forget_memory(older_than interval, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_forget_memory(older_than interval, most integer) TO portico_engine;

REVOKE ALL ON FUNCTION portico.bridge_join(wanted uuid, who uuid, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_join(wanted uuid, who uuid, at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_closed boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_label_number(here uuid, its_level smallint, its_compartments text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION portico.bridge_messages(ids uuid[], clear_level smallint, clear_compartments text[], clear_closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_messages(ids uuid[], clear_level smallint, clear_compartments text[], clear_closed boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_near(its_model text, its_vector text, its_project uuid, its_conversation uuid, most integer, clear_level smallint, clear_compartments text[], clear_closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_near(its_model text, its_vector text, its_project uuid, its_conversation uuid, most integer, clear_level smallint, clear_compartments text[], clear_closed boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_next_token(wanted uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_next_token(wanted uuid) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_open(its_id uuid, its_project uuid, its_title text, its_level smallint, its_compartments text[], its_closed boolean, at timestamp with time zone, clear_level smallint, clear_compartments text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_open(its_id uuid, its_project uuid, its_title text, its_level smallint, its_compartments text[], its_closed boolean, at timestamp with time zone, clear_level smallint, clear_compartments text[]) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_places(wanted uuid, its_thread uuid, place bigint, back boolean, most integer, clear_level smallint, clear_compartments text[], clear_closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_places(wanted uuid, its_thread uuid, place bigint, back boolean, most integer, clear_level smallint, clear_compartments text[], clear_closed boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_read_one(its_id uuid, clear_level smallint, clear_compartments text[], clear_closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_read_one(its_id uuid, clear_level smallint, clear_compartments text[], clear_closed boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_read_to(wanted uuid, place bigint, partly boolean, clear_level smallint, clear_compartments text[], clear_closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_read_to(wanted uuid, place bigint, partly boolean, clear_level smallint, clear_compartments text[], clear_closed boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_send(wanted uuid, its_id uuid, its_level smallint, its_compartments text[], its_body text, its_sender_name text, its_reply_to uuid, its_mentions uuid[], its_addressed uuid[], its_attachments text[], its_acknowledge boolean, its_acknowledge_by timestamp with time zone, its_untrusted boolean, its_copy_of uuid, its_key text, its_digest bytea, at timestamp with time zone, task_opened boolean, clear_level smallint, clear_compartments text[], clear_closed boolean, OUT outcome text, OUT place bigint, OUT message_id uuid, OUT thread uuid, OUT level smallint, OUT compartments text[], OUT inside_level smallint, OUT inside_compartments text[], OUT untrusted boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_send(wanted uuid, its_id uuid, its_level smallint, its_compartments text[], its_body text, its_sender_name text, its_reply_to uuid, its_mentions uuid[], its_addressed uuid[], its_attachments text[], its_acknowledge boolean, its_acknowledge_by timestamp with time zone, its_untrusted boolean, its_copy_of uuid, its_key text, its_digest bytea, at timestamp with time zone, task_opened boolean, clear_level smallint, clear_compartments text[], clear_closed boolean, OUT outcome text, OUT place bigint, OUT message_id uuid, OUT thread uuid, OUT level smallint, OUT compartments text[], OUT inside_level smallint, OUT inside_compartments text[], OUT untrusted boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_spaces_to_embed(its_model text) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_spaces_to_embed(its_model text) TO portico_engine;

REVOKE ALL ON FUNCTION portico.bridge_takes_part(its_conversation uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_takes_part(its_conversation uuid) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_unembedded(its_model text, most integer, clear_level smallint, clear_compartments text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_unembedded(its_model text, most integer, clear_level smallint, clear_compartments text[]) TO portico_app;

REVOKE ALL ON FUNCTION portico.bridge_unread(wanted uuid[], clear_level smallint, clear_compartments text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.bridge_unread(wanted uuid[], clear_level smallint, clear_compartments text[]) TO portico_app;

REVOKE ALL ON FUNCTION portico.debate_add_note(wanted uuid, its_name text, its_level smallint, its_compartments text[], its_kind text, its_voice text, its_round integer, its_body json, its_tokens bigint, its_money numeric, its_time interval, its_calls integer, its_prompt bigint, its_output bigint, its_overrun bigint, its_at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_private boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.debate_add_note(wanted uuid, its_name text, its_level smallint, its_compartments text[], its_kind text, its_voice text, its_round integer, its_body json, its_tokens bigint, its_money numeric, its_time interval, its_calls integer, its_prompt bigint, its_output bigint, its_overrun bigint, its_at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_private boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.debate_answer(wanted uuid, its_key text, its_answer json, clear_level smallint, clear_compartments text[], clear_private boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.debate_answer(wanted uuid, its_key text, its_answer json, clear_level smallint, clear_compartments text[], clear_private boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.debate_chair(wanted uuid, clear_level smallint, clear_compartments text[], clear_private boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.debate_chair(wanted uuid, clear_level smallint, clear_compartments text[], clear_private boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.debate_forget(older_than interval, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.debate_forget(older_than interval, most integer) TO portico_engine;

GRANT DELETE ON TABLE portico.debate TO portico_app;

GRANT SELECT(space_id),INSERT(space_id) ON TABLE portico.debate TO portico_app;

GRANT SELECT(debate_id),INSERT(debate_id) ON TABLE portico.debate TO portico_app;

GRANT SELECT(level),INSERT(level) ON TABLE portico.debate TO portico_app;

GRANT SELECT(compartments),INSERT(compartments) ON TABLE portico.debate TO portico_app;

GRANT SELECT(private),INSERT(private),UPDATE(private) ON TABLE portico.debate TO portico_app;

GRANT SELECT(untrusted),INSERT(untrusted) ON TABLE portico.debate TO portico_app;

GRANT SELECT(project_id),INSERT(project_id) ON TABLE portico.debate TO portico_app;

GRANT SELECT(part_of),INSERT(part_of) ON TABLE portico.debate TO portico_app;

GRANT SELECT(analysis),INSERT(analysis) ON TABLE portico.debate TO portico_app;

GRANT SELECT(started_by),INSERT(started_by) ON TABLE portico.debate TO portico_app;

GRANT SELECT(run_id),INSERT(run_id) ON TABLE portico.debate TO portico_app;

GRANT SELECT(context_id),INSERT(context_id) ON TABLE portico.debate TO portico_app;

GRANT SELECT(status),INSERT(status),UPDATE(status) ON TABLE portico.debate TO portico_app;

GRANT SELECT(question),INSERT(question) ON TABLE portico.debate TO portico_app;

GRANT SELECT(body),INSERT(body) ON TABLE portico.debate TO portico_app;

GRANT SELECT(guests),INSERT(guests) ON TABLE portico.debate TO portico_app;

GRANT SELECT(unbounded),INSERT(unbounded) ON TABLE portico.debate TO portico_app;

GRANT SELECT(cap_tokens),INSERT(cap_tokens) ON TABLE portico.debate TO portico_app;

GRANT SELECT(cap_money),INSERT(cap_money) ON TABLE portico.debate TO portico_app;

GRANT SELECT(deadline),INSERT(deadline) ON TABLE portico.debate TO portico_app;

GRANT SELECT(started_at),INSERT(started_at) ON TABLE portico.debate TO portico_app;

GRANT SELECT(ended_at),INSERT(ended_at),UPDATE(ended_at) ON TABLE portico.debate TO portico_app;

GRANT SELECT(decision),INSERT(decision),UPDATE(decision) ON TABLE portico.debate TO portico_app;

GRANT SELECT(tokens),UPDATE(tokens) ON TABLE portico.debate TO portico_app;

GRANT SELECT(money),UPDATE(money) ON TABLE portico.debate TO portico_app;

GRANT SELECT("time"),UPDATE("time") ON TABLE portico.debate TO portico_app;

GRANT SELECT(calls),UPDATE(calls) ON TABLE portico.debate TO portico_app;

REVOKE ALL ON FUNCTION portico.debate_held(wanted uuid, clear_level smallint, clear_compartments text[], clear_private boolean, OUT its portico.debate, OUT whole boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION portico.debate_hush(wanted uuid, its_topic text) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.debate_hush(wanted uuid, its_topic text) TO portico_app;

REVOKE ALL ON FUNCTION portico.debate_promote(its_record uuid, its_approval uuid, its_source uuid, its_copy uuid, to_level smallint, to_compartments text[], its_content text, its_rules text[], its_signature text, its_at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_private boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.debate_promote(its_record uuid, its_approval uuid, its_source uuid, its_copy uuid, to_level smallint, to_compartments text[], its_content text, its_rules text[], its_signature text, its_at timestamp with time zone, clear_level smallint, clear_compartments text[], clear_private boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.debate_reserve(wanted uuid, its_name text, its_tokens bigint, its_money numeric, its_time interval, its_calls integer, clear_level smallint, clear_compartments text[], clear_private boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.debate_reserve(wanted uuid, its_name text, its_tokens bigint, its_money numeric, its_time interval, its_calls integer, clear_level smallint, clear_compartments text[], clear_private boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.debate_settle(wanted uuid, its_name text, its_tokens bigint, its_money numeric, its_time interval, its_calls integer, clear_level smallint, clear_compartments text[], clear_private boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.debate_settle(wanted uuid, its_name text, its_tokens bigint, its_money numeric, its_time interval, its_calls integer, clear_level smallint, clear_compartments text[], clear_private boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.debate_sit(wanted uuid, its_name text, its_voice json, clear_level smallint, clear_compartments text[], clear_private boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.debate_sit(wanted uuid, its_name text, its_voice json, clear_level smallint, clear_compartments text[], clear_private boolean) TO portico_app;

REVOKE ALL ON FUNCTION portico.drop_event_months(before timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.drop_event_months(before timestamp with time zone) TO portico_engine;

REVOKE ALL ON FUNCTION portico.drop_months(log text, before timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.drop_months(log text, before timestamp with time zone) TO portico_engine;

REVOKE ALL ON FUNCTION portico.enter(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.enter(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text) TO portico_app;

REVOKE ALL ON FUNCTION portico.find_api_key(wanted text) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.find_api_key(wanted text) TO portico_app;

REVOKE ALL ON FUNCTION portico.find_login_attempt(wanted bytea, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.find_login_attempt(wanted bytea, at timestamp with time zone) TO portico_app;

REVOKE ALL ON FUNCTION portico.finish_step(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_run uuid, its_claim uuid, its_name text, its_number integer, its_state text, its_output json, its_error json, its_due timestamp with time zone, its_start timestamp with time zone, its_end timestamp with time zone, its_topic text, its_event uuid, its_type text, its_facts json) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.finish_step(asking_space uuid, asking uuid, asking_level smallint, asking_compartments text, its_run uuid, its_claim uuid, its_name text, its_number integer, its_state text, its_output json, its_error json, its_due timestamp with time zone, its_start timestamp with time zone, its_end timestamp with time zone, its_topic text, its_event uuid, its_type text, its_facts json) TO portico_app;

REVOKE ALL ON FUNCTION portico.mark_covered(its_level smallint, its_compartments text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.mark_covered(its_level smallint, its_compartments text[]) TO portico_app;

REVOKE ALL ON FUNCTION portico.own_conversations() FROM PUBLIC;
GRANT ALL ON FUNCTION portico.own_conversations() TO portico_app;

REVOKE ALL ON FUNCTION portico.own_debate(wanted uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.own_debate(wanted uuid) TO portico_app;

REVOKE ALL ON FUNCTION portico.prepare_event_months(ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.prepare_event_months(ahead integer) TO portico_engine;

REVOKE ALL ON FUNCTION portico.prepare_months(log text, ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.prepare_months(log text, ahead integer) TO portico_engine;

REVOKE ALL ON FUNCTION portico.runs_that_say(words text) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.runs_that_say(words text) TO portico_app;

REVOKE ALL ON FUNCTION portico.take_calls(subjects text[], most integer[], ahead integer[], waiting integer[], back integer[], back_slot bigint[], slot_seconds double precision, slots integer) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.take_calls(subjects text[], most integer[], ahead integer[], waiting integer[], back integer[], back_slot bigint[], slot_seconds double precision, slots integer) TO portico_app;

REVOKE ALL ON FUNCTION portico.take_login_attempt(wanted bytea, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION portico.take_login_attempt(wanted bytea, at timestamp with time zone) TO portico_app;

REVOKE ALL ON FUNCTION portico.uncount_servers() FROM PUBLIC;

GRANT SELECT,INSERT,DELETE ON TABLE portico.agent TO portico_app;

GRANT UPDATE(name) ON TABLE portico.agent TO portico_app;

GRANT UPDATE(level) ON TABLE portico.agent TO portico_app;

GRANT UPDATE(compartments) ON TABLE portico.agent TO portico_app;

GRANT UPDATE(version) ON TABLE portico.agent TO portico_app;

GRANT UPDATE(spec) ON TABLE portico.agent TO portico_app;

GRANT UPDATE(changed_at) ON TABLE portico.agent TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.agent_input TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.agent_run TO portico_app;
GRANT DELETE ON TABLE portico.agent_run TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.agent_run TO portico_engine;

GRANT SELECT(run_id) ON TABLE portico.agent_run TO portico_engine;

GRANT UPDATE(status) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(level) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(compartments) ON TABLE portico.agent_run TO portico_app;

GRANT SELECT(started_at) ON TABLE portico.agent_run TO portico_engine;

GRANT UPDATE(ended_at) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(stop_at) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(turns) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(tool_uses) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(input_tokens) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(output_tokens) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(cached_tokens) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(reported) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(money) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(answer) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(error_code) ON TABLE portico.agent_run TO portico_app;

GRANT UPDATE(error) ON TABLE portico.agent_run TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.agent_tool_use TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.agent_turn TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.agent_version TO portico_app;

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

GRANT SELECT(tools) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(elicits_for),UPDATE(elicits_for) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(opened_with) ON TABLE portico.api_key TO portico_app;

GRANT SELECT(opened_with_until),UPDATE(opened_with_until) ON TABLE portico.api_key TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.approval TO portico_app;
GRANT DELETE ON TABLE portico.approval TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.approval TO portico_engine;

GRANT SELECT(approval_id) ON TABLE portico.approval TO portico_engine;

GRANT UPDATE(sealed) ON TABLE portico.approval TO portico_app;

GRANT SELECT(asked_at) ON TABLE portico.approval TO portico_engine;

GRANT UPDATE(expires_at) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(status) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(answer) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(answered_by) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(answerer) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(answered_via) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(answered_at) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(answer_reason) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(rule_made) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(replaced_by) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(claimed_at) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(outcome) ON TABLE portico.approval TO portico_app;
GRANT SELECT(outcome) ON TABLE portico.approval TO portico_engine;

GRANT UPDATE(ended_at) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(error) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(result) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(collected_at) ON TABLE portico.approval TO portico_app;

GRANT UPDATE(resolved_by) ON TABLE portico.approval TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.attachment TO portico_app;

GRANT SELECT ON TABLE portico.audit_entry TO portico_app;

GRANT SELECT ON TABLE portico.audit_head TO portico_app;

GRANT SELECT(space_id) ON TABLE portico.bridge_label TO portico_app;

GRANT SELECT(number) ON TABLE portico.bridge_label TO portico_app;

GRANT SELECT(level) ON TABLE portico.bridge_label TO portico_app;

GRANT SELECT(compartments) ON TABLE portico.bridge_label TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.budget TO portico_app;

GRANT UPDATE(held_tokens) ON TABLE portico.budget TO portico_app;

GRANT UPDATE(held_money) ON TABLE portico.budget TO portico_app;

GRANT UPDATE(held_time) ON TABLE portico.budget TO portico_app;

GRANT UPDATE(held_calls) ON TABLE portico.budget TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.budget_reservation TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.call_count TO portico_app;

GRANT UPDATE(slot) ON TABLE portico.call_count TO portico_app;

GRANT UPDATE(taken) ON TABLE portico.call_count TO portico_app;

GRANT SELECT(space_id) ON TABLE portico.conversation TO portico_app;

GRANT SELECT(conversation_id) ON TABLE portico.conversation TO portico_app;

GRANT SELECT(project_id) ON TABLE portico.conversation TO portico_app;

GRANT SELECT(title),UPDATE(title) ON TABLE portico.conversation TO portico_app;

GRANT SELECT(level) ON TABLE portico.conversation TO portico_app;

GRANT SELECT(compartments) ON TABLE portico.conversation TO portico_app;

GRANT SELECT(closed) ON TABLE portico.conversation TO portico_app;

GRANT SELECT(made_by) ON TABLE portico.conversation TO portico_app;

GRANT SELECT(made_at) ON TABLE portico.conversation TO portico_app;

GRANT SELECT(archived_at),UPDATE(archived_at) ON TABLE portico.conversation TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.debate_cap TO portico_app;

GRANT UPDATE(tokens) ON TABLE portico.debate_cap TO portico_app;

GRANT UPDATE(money) ON TABLE portico.debate_cap TO portico_app;

GRANT SELECT ON TABLE portico.debate_note TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.debate_outcome TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.debate_persona TO portico_app;

GRANT UPDATE(instructions) ON TABLE portico.debate_persona TO portico_app;

GRANT UPDATE(specialist) ON TABLE portico.debate_persona TO portico_app;

GRANT UPDATE(made_by) ON TABLE portico.debate_persona TO portico_app;

GRANT UPDATE(changed_at) ON TABLE portico.debate_persona TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.debate_question TO portico_app;

GRANT SELECT ON TABLE portico.debate_reservation TO portico_app;

GRANT SELECT ON TABLE portico.debate_seat TO portico_app;

GRANT SELECT ON TABLE portico.debate_spending TO portico_app;

GRANT SELECT ON TABLE portico.declassification TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.embedding TO portico_app;

GRANT SELECT(space_id) ON TABLE portico.embedding_progress TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.event TO portico_app;
GRANT DELETE ON TABLE portico.event TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.event TO portico_engine;

GRANT SELECT(topic) ON TABLE portico.event TO portico_engine;

GRANT SELECT(number) ON TABLE portico.event TO portico_engine;

GRANT SELECT(at) ON TABLE portico.event TO portico_engine;

GRANT SELECT,INSERT ON TABLE portico.idempotency_record TO portico_app;
GRANT DELETE ON TABLE portico.idempotency_record TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.idempotency_record TO portico_engine;

GRANT SELECT(principal_id) ON TABLE portico.idempotency_record TO portico_engine;

GRANT SELECT(operation) ON TABLE portico.idempotency_record TO portico_engine;

GRANT SELECT(key) ON TABLE portico.idempotency_record TO portico_engine;

GRANT UPDATE(body) ON TABLE portico.idempotency_record TO portico_app;

GRANT SELECT(created_at) ON TABLE portico.idempotency_record TO portico_engine;

GRANT SELECT,INSERT ON TABLE portico.inferred_schema TO portico_app;

GRANT UPDATE(pin) ON TABLE portico.inferred_schema TO portico_app;

GRANT UPDATE(seen) ON TABLE portico.inferred_schema TO portico_app;

GRANT UPDATE(shape) ON TABLE portico.inferred_schema TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.lease TO portico_app;

GRANT UPDATE(token) ON TABLE portico.lease TO portico_app;

GRANT UPDATE(expires_at) ON TABLE portico.lease TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.login TO portico_app;

GRANT UPDATE(sealed) ON TABLE portico.login TO portico_app;

GRANT UPDATE(since) ON TABLE portico.login TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.login_attempt TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.login_client TO portico_app;

GRANT UPDATE(settings) ON TABLE portico.login_client TO portico_app;

GRANT UPDATE(sealed) ON TABLE portico.login_client TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.memory TO portico_app;

GRANT SELECT(space_id) ON TABLE portico.mention TO portico_app;

GRANT SELECT(space_id) ON TABLE portico.message TO portico_app;

GRANT SELECT(conversation_id) ON TABLE portico.message TO portico_app;

GRANT SELECT(seq) ON TABLE portico.message TO portico_app;

GRANT SELECT(message_id) ON TABLE portico.message TO portico_app;

GRANT SELECT(level) ON TABLE portico.message TO portico_app;

GRANT SELECT(compartments) ON TABLE portico.message TO portico_app;

GRANT SELECT(closed) ON TABLE portico.message TO portico_app;

GRANT SELECT(sender) ON TABLE portico.message TO portico_app;

GRANT SELECT(sender_name) ON TABLE portico.message TO portico_app;

GRANT SELECT(body) ON TABLE portico.message TO portico_app;

GRANT SELECT(reply_to) ON TABLE portico.message TO portico_app;

GRANT SELECT(thread) ON TABLE portico.message TO portico_app;

GRANT SELECT(mentions) ON TABLE portico.message TO portico_app;

GRANT SELECT(addressed) ON TABLE portico.message TO portico_app;

GRANT SELECT(owing) ON TABLE portico.message TO portico_app;

GRANT SELECT(attachments) ON TABLE portico.message TO portico_app;

GRANT SELECT(acknowledge) ON TABLE portico.message TO portico_app;

GRANT SELECT(acknowledge_by) ON TABLE portico.message TO portico_app;

GRANT SELECT(untrusted) ON TABLE portico.message TO portico_app;

GRANT SELECT(copy_of) ON TABLE portico.message TO portico_app;

GRANT SELECT(sent_at) ON TABLE portico.message TO portico_app;

GRANT SELECT(edited_at) ON TABLE portico.message TO portico_app;

GRANT SELECT(deleted_at) ON TABLE portico.message TO portico_app;

GRANT SELECT ON TABLE portico.message_ack TO portico_app;

GRANT SELECT(space_id) ON TABLE portico.message_vector TO portico_app;

GRANT SELECT ON TABLE portico.message_version TO portico_app;

GRANT DELETE ON TABLE portico.participant TO portico_app;

GRANT SELECT(space_id) ON TABLE portico.participant TO portico_app;

GRANT SELECT(conversation_id) ON TABLE portico.participant TO portico_app;

GRANT SELECT(principal_id) ON TABLE portico.participant TO portico_app;

GRANT SELECT(joined_at) ON TABLE portico.participant TO portico_app;

GRANT SELECT(muted),UPDATE(muted) ON TABLE portico.participant TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.past_plan TO portico_app;
GRANT DELETE ON TABLE portico.past_plan TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.past_plan TO portico_engine;

GRANT SELECT(plan_id) ON TABLE portico.past_plan TO portico_engine;

GRANT SELECT(principal_id) ON TABLE portico.past_plan TO portico_engine;

GRANT UPDATE(runs) ON TABLE portico.past_plan TO portico_app;

GRANT UPDATE(accepted) ON TABLE portico.past_plan TO portico_app;

GRANT UPDATE(rejected) ON TABLE portico.past_plan TO portico_app;

GRANT UPDATE(modified) ON TABLE portico.past_plan TO portico_app;

GRANT UPDATE(last_at) ON TABLE portico.past_plan TO portico_app;
GRANT SELECT(last_at) ON TABLE portico.past_plan TO portico_engine;

GRANT SELECT,INSERT,DELETE ON TABLE portico.policy_rule TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.prediction_count TO portico_app;
GRANT DELETE ON TABLE portico.prediction_count TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.prediction_count TO portico_engine;

GRANT UPDATE(tried) ON TABLE portico.prediction_count TO portico_app;

GRANT UPDATE(hit) ON TABLE portico.prediction_count TO portico_app;

GRANT UPDATE(last_seen_at) ON TABLE portico.prediction_count TO portico_app;
GRANT SELECT(last_seen_at) ON TABLE portico.prediction_count TO portico_engine;

GRANT SELECT,INSERT,DELETE ON TABLE portico.presence TO portico_app;

GRANT UPDATE(doing) ON TABLE portico.presence TO portico_app;

GRANT UPDATE(note) ON TABLE portico.presence TO portico_app;

GRANT UPDATE(until) ON TABLE portico.presence TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.principal TO portico_app;

GRANT UPDATE(name) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(roles) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(level) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(compartments) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(disabled_at) ON TABLE portico.principal TO portico_app;

GRANT UPDATE(tools) ON TABLE portico.principal TO portico_app;

GRANT SELECT(space_id),INSERT(space_id) ON TABLE portico.project TO portico_app;

GRANT SELECT(project_id),INSERT(project_id) ON TABLE portico.project TO portico_app;

GRANT SELECT(name),INSERT(name),UPDATE(name) ON TABLE portico.project TO portico_app;

GRANT SELECT(description),INSERT(description),UPDATE(description) ON TABLE portico.project TO portico_app;

GRANT SELECT(level),INSERT(level) ON TABLE portico.project TO portico_app;

GRANT SELECT(compartments),INSERT(compartments) ON TABLE portico.project TO portico_app;

GRANT SELECT(made_by),INSERT(made_by) ON TABLE portico.project TO portico_app;

GRANT SELECT(made_at),INSERT(made_at) ON TABLE portico.project TO portico_app;

GRANT SELECT(archived_at),INSERT(archived_at),UPDATE(archived_at) ON TABLE portico.project TO portico_app;

GRANT SELECT(space_id) ON TABLE portico.read_message TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.run TO portico_app;
GRANT DELETE ON TABLE portico.run TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.run TO portico_engine;

GRANT SELECT(run_id) ON TABLE portico.run TO portico_engine;

GRANT SELECT(principal_id) ON TABLE portico.run TO portico_engine;

GRANT SELECT(kind) ON TABLE portico.run TO portico_engine;

GRANT SELECT(level) ON TABLE portico.run TO portico_engine;

GRANT SELECT(compartments) ON TABLE portico.run TO portico_engine;

GRANT SELECT(clearance_level) ON TABLE portico.run TO portico_engine;
GRANT UPDATE(clearance_level) ON TABLE portico.run TO portico_app;

GRANT SELECT(clearance_compartments) ON TABLE portico.run TO portico_engine;
GRANT UPDATE(clearance_compartments) ON TABLE portico.run TO portico_app;

GRANT UPDATE(scopes) ON TABLE portico.run TO portico_app;

GRANT SELECT(queue) ON TABLE portico.run TO portico_engine;

GRANT SELECT(partition_key) ON TABLE portico.run TO portico_engine;

GRANT SELECT(priority) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(status) ON TABLE portico.run TO portico_app;
GRANT SELECT(status),UPDATE(status) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(leg) ON TABLE portico.run TO portico_app;
GRANT SELECT(leg),UPDATE(leg) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(claim) ON TABLE portico.run TO portico_app;
GRANT SELECT(claim),UPDATE(claim) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(executor) ON TABLE portico.run TO portico_app;
GRANT SELECT(executor),UPDATE(executor) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(attempts) ON TABLE portico.run TO portico_app;
GRANT SELECT(attempts),UPDATE(attempts) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(waits_for) ON TABLE portico.run TO portico_app;

GRANT UPDATE(wakes_at) ON TABLE portico.run TO portico_app;
GRANT SELECT(wakes_at),UPDATE(wakes_at) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(input) ON TABLE portico.run TO portico_app;

GRANT UPDATE(result) ON TABLE portico.run TO portico_app;

GRANT UPDATE(error) ON TABLE portico.run TO portico_app;

GRANT SELECT(created_at) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(started_at) ON TABLE portico.run TO portico_app;
GRANT SELECT(started_at),UPDATE(started_at) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(finished_at) ON TABLE portico.run TO portico_app;
GRANT SELECT(finished_at),UPDATE(finished_at) ON TABLE portico.run TO portico_engine;

GRANT UPDATE(changed_at) ON TABLE portico.run TO portico_app;
GRANT SELECT(changed_at),UPDATE(changed_at) ON TABLE portico.run TO portico_engine;

GRANT SELECT,INSERT ON TABLE portico.run_signal TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.run_step TO portico_app;

GRANT UPDATE(number) ON TABLE portico.run_step TO portico_app;

GRANT UPDATE(state) ON TABLE portico.run_step TO portico_app;

GRANT UPDATE(output) ON TABLE portico.run_step TO portico_app;

GRANT UPDATE(error) ON TABLE portico.run_step TO portico_app;

GRANT UPDATE(due_at) ON TABLE portico.run_step TO portico_app;

GRANT UPDATE(finished_at) ON TABLE portico.run_step TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.saved_workflow TO portico_app;

GRANT UPDATE(plan) ON TABLE portico.saved_workflow TO portico_app;

GRANT UPDATE(description) ON TABLE portico.saved_workflow TO portico_app;

GRANT UPDATE(effect) ON TABLE portico.saved_workflow TO portico_app;

GRANT UPDATE(saved_by) ON TABLE portico.saved_workflow TO portico_app;

GRANT UPDATE(saved_by_name) ON TABLE portico.saved_workflow TO portico_app;

GRANT UPDATE(changed_at) ON TABLE portico.saved_workflow TO portico_app;

GRANT SELECT ON TABLE portico.schema_migration TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.server TO portico_app;

GRANT UPDATE(launch) ON TABLE portico.server TO portico_app;

GRANT UPDATE(launch_pin) ON TABLE portico.server TO portico_app;

GRANT UPDATE(enabled) ON TABLE portico.server TO portico_app;

GRANT UPDATE(approved_launch_pin) ON TABLE portico.server TO portico_app;

GRANT UPDATE(approved_launch) ON TABLE portico.server TO portico_app;

GRANT UPDATE(approved_by) ON TABLE portico.server TO portico_app;

GRANT UPDATE(approved_at) ON TABLE portico.server TO portico_app;

GRANT UPDATE(tools_accepted) ON TABLE portico.server TO portico_app;

GRANT UPDATE(set_pin) ON TABLE portico.server TO portico_app;

GRANT UPDATE(accepted_set_pin) ON TABLE portico.server TO portico_app;

GRANT UPDATE(instructions) ON TABLE portico.server TO portico_app;

GRANT UPDATE(accepted_instructions) ON TABLE portico.server TO portico_app;

GRANT UPDATE(offers) ON TABLE portico.server TO portico_app;

GRANT UPDATE(accepted_offers) ON TABLE portico.server TO portico_app;

GRANT UPDATE(identity) ON TABLE portico.server TO portico_app;

GRANT UPDATE(era) ON TABLE portico.server TO portico_app;

GRANT UPDATE(timeout_seconds) ON TABLE portico.server TO portico_app;

GRANT UPDATE(failure) ON TABLE portico.server TO portico_app;

GRANT UPDATE(listed_at) ON TABLE portico.server TO portico_app;

GRANT UPDATE(gone_at) ON TABLE portico.server TO portico_app;

GRANT UPDATE(profile) ON TABLE portico.server TO portico_app;

GRANT UPDATE(unboxed) ON TABLE portico.server TO portico_app;

GRANT UPDATE(label_level) ON TABLE portico.server TO portico_app;

GRANT UPDATE(label_compartments) ON TABLE portico.server TO portico_app;

GRANT UPDATE(clearance_level) ON TABLE portico.server TO portico_app;

GRANT UPDATE(clearance_compartments) ON TABLE portico.server TO portico_app;

GRANT UPDATE(trusted) ON TABLE portico.server TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.setting TO portico_app;

GRANT UPDATE(value) ON TABLE portico.setting TO portico_app;

GRANT UPDATE(updated_at) ON TABLE portico.setting TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.space TO portico_app;

GRANT UPDATE(name) ON TABLE portico.space TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.stream TO portico_app;
GRANT DELETE ON TABLE portico.stream TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.stream TO portico_engine;

GRANT SELECT(topic) ON TABLE portico.stream TO portico_engine;

GRANT SELECT(first),UPDATE(first) ON TABLE portico.stream TO portico_engine;

GRANT UPDATE(last) ON TABLE portico.stream TO portico_app;
GRANT SELECT(last) ON TABLE portico.stream TO portico_engine;

GRANT SELECT(created_at) ON TABLE portico.stream TO portico_engine;

GRANT SELECT,INSERT ON TABLE portico.suggestion TO portico_app;
GRANT DELETE ON TABLE portico.suggestion TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.suggestion TO portico_engine;

GRANT SELECT(suggestion_id) ON TABLE portico.suggestion TO portico_engine;

GRANT SELECT(principal_id) ON TABLE portico.suggestion TO portico_engine;

GRANT SELECT(made_at) ON TABLE portico.suggestion TO portico_engine;

GRANT UPDATE(run_id) ON TABLE portico.suggestion TO portico_app;

GRANT UPDATE(outcome) ON TABLE portico.suggestion TO portico_app;

GRANT UPDATE(settled_at) ON TABLE portico.suggestion TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.taint_context TO portico_app;

GRANT UPDATE(level) ON TABLE portico.taint_context TO portico_app;

GRANT UPDATE(compartments) ON TABLE portico.taint_context TO portico_app;

GRANT UPDATE(untrusted) ON TABLE portico.taint_context TO portico_app;

GRANT UPDATE(closed_at) ON TABLE portico.taint_context TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.token_subject TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.tool TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.tool_call TO portico_app;
GRANT DELETE ON TABLE portico.tool_call TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.tool_call TO portico_engine;

GRANT SELECT(call_id) ON TABLE portico.tool_call TO portico_engine;

GRANT SELECT(started_at) ON TABLE portico.tool_call TO portico_engine;

GRANT UPDATE(took) ON TABLE portico.tool_call TO portico_app;

GRANT UPDATE(outcome) ON TABLE portico.tool_call TO portico_app;

GRANT UPDATE(error) ON TABLE portico.tool_call TO portico_app;

GRANT UPDATE(bytes_out) ON TABLE portico.tool_call TO portico_app;

GRANT SELECT,INSERT,DELETE ON TABLE portico.tool_edge TO portico_app;
GRANT DELETE ON TABLE portico.tool_edge TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.tool_edge TO portico_engine;

GRANT UPDATE(times) ON TABLE portico.tool_edge TO portico_app;

GRANT UPDATE(tasks) ON TABLE portico.tool_edge TO portico_app;

GRANT UPDATE(last_seen_at) ON TABLE portico.tool_edge TO portico_app;
GRANT SELECT(last_seen_at) ON TABLE portico.tool_edge TO portico_engine;

GRANT SELECT,INSERT ON TABLE portico.tool_flow TO portico_app;

GRANT UPDATE(times) ON TABLE portico.tool_flow TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.tool_result TO portico_app;
GRANT DELETE ON TABLE portico.tool_result TO portico_engine;

GRANT SELECT(space_id) ON TABLE portico.tool_result TO portico_engine;

GRANT SELECT(result_id) ON TABLE portico.tool_result TO portico_engine;

GRANT SELECT(expires_at) ON TABLE portico.tool_result TO portico_engine;

GRANT SELECT,INSERT ON TABLE portico.tool_usage TO portico_app;

GRANT UPDATE(found_for) ON TABLE portico.tool_usage TO portico_app;

GRANT UPDATE(found_at) ON TABLE portico.tool_usage TO portico_app;

GRANT UPDATE(calls) ON TABLE portico.tool_usage TO portico_app;

GRANT UPDATE(called_at) ON TABLE portico.tool_usage TO portico_app;

GRANT SELECT,INSERT ON TABLE portico.work_item TO portico_app;

GRANT UPDATE(state) ON TABLE portico.work_item TO portico_app;

GRANT UPDATE(claimed_by) ON TABLE portico.work_item TO portico_app;

GRANT UPDATE(token) ON TABLE portico.work_item TO portico_app;

GRANT UPDATE(outcome) ON TABLE portico.work_item TO portico_app;

GRANT UPDATE(untrusted) ON TABLE portico.work_item TO portico_app;

GRANT UPDATE(changed_at) ON TABLE portico.work_item TO portico_app;
