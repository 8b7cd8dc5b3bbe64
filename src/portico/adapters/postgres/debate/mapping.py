"""From rows to debates and back; what was said is stored as JSON, word for word."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from portico.adapters.postgres.mapping import Row, as_label, storable_or_none, strip_nul
from portico.bridge.core.projects import ProjectId
from portico.debate.core.debaters import Debater, DebaterKind, Tariff
from portico.debate.core.debates import Debate, DebateId, DebateStatus, Decision, Note, NoteKind
from portico.debate.core.questions import Cap, Preset, Question, QuestionKind, Rules
from portico.engine.event_log import PRIVATE
from portico.kernel.budget import Cost, Tokens
from portico.kernel.ids import ContextId, PrincipalId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label


def talk_topic(debate: DebateId) -> str:
    """Where what happens in it is told."""
    return f"{PRIVATE}debate:{debate}"


def label_columns(label: Label) -> dict[str, object]:
    return {"its_level": int(label.level), "its_compartments": sorted(label.compartments)}


def cost_columns(cost: Cost) -> dict[str, object]:
    return {
        "tokens": int(cost.tokens),
        "money": cost.money,
        "time": cost.time,
        "calls": cost.calls,
    }


def cost_from(row: Row) -> Cost:
    return Cost(
        tokens=Tokens(int(row["tokens"])),
        money=Decimal(row["money"]),
        time=row["time"],
        calls=int(row["calls"]),
    )


def body_json(debate: Debate) -> JsonObject:
    """Of what is asked, by which rules, and of whom."""
    question, rules = debate.question, debate.rules
    return {
        "question": {
            "text": question.text,
            "kind": str(question.kind),
            "choices": [*question.choices],
            "topic": question.topic,
            "material": question.material,
        },
        "rules": {
            "preset": str(rules.preset),
            "thoroughness": rules.thoroughness,
            "first": rules.first,
            "voices_most": rules.voices_most,
            "rounds": rules.rounds,
            "stop_at": rules.stop_at,
            "decide_at": rules.decide_at,
            "judge_pairs": rules.judge_pairs,
            "quorum_share": rules.quorum_share,
            "quorum_families": rules.quorum_families,
        },
        "voices": [
            voice_json(voice) for voice in debate.debaters if voice.kind != DebaterKind.GUEST
        ],
        "parts_most": debate.parts_most,
        "seed": debate.seed,
        **({} if debate.start_label is None else {"began": str(debate.start_label)}),
    }


def debate_columns(debate: Debate) -> dict[str, object]:
    return {
        "debate": debate.id.value,
        **label_columns(debate.label),
        "private": debate.private,
        "untrusted": debate.untrusted,
        "project": None if debate.project is None else ProjectId.parse(debate.project).value,
        "part_of": None if debate.part_of is None else debate.part_of.value,
        "analysis": debate.analysis,
        "started_by": debate.started_by.value,
        "run": debate.run.value,
        "context": None if debate.context is None else debate.context.value,
        "status": str(debate.status),
        "question": strip_nul(debate.question.text),
        "body": json.dumps(body_json(debate)),
        "guests": debate.guests,
        "unbounded": debate.unbounded,
        "cap_tokens": debate.cap.tokens,
        "cap_money": debate.cap.money,
        "deadline": debate.deadline,
        "started_at": debate.started_at,
        "ended_at": debate.ended_at,
        "decision": decision_column(debate.decision),
    }


def decision_column(decision: Decision | None) -> str | None:
    return None if decision is None else json.dumps(decision.as_json())


def debate_from(row: Row) -> Debate:
    body = json.loads(row["body"])
    guests = [voice_from(each) for each in json.loads(row["seated"])]
    return Debate(
        id=DebateId(row["debate_id"]),
        question=_question(body["question"]),
        rules=_rules(body["rules"]),
        debaters=(*map(voice_from, body["voices"]), *guests),
        guests=row["guests"],
        cap=Cap(tokens=row["cap_tokens"], money=row["cap_money"]),
        unbounded=row["unbounded"],
        deadline=row["deadline"],
        label=as_label(row["level"], row["compartments"]),
        start_label=Label.parse(body["began"]) if "began" in body else None,
        untrusted=row["untrusted"],
        private=row["private"],
        project=None if row["project_id"] is None else str(ProjectId(row["project_id"])),
        part_of=None if row["part_of"] is None else DebateId(row["part_of"]),
        analysis=row["analysis"],
        parts_most=body["parts_most"],
        seed=body["seed"],
        started_by=PrincipalId(row["started_by"]),
        run=RunId(row["run_id"]),
        context=None if row["context_id"] is None else ContextId(row["context_id"]),
        status=DebateStatus(row["status"]),
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        spent=cost_from(row),
        decision=None
        if row["decision"] is None
        else Decision.from_json(json.loads(row["decision"])),
    )


def voice_json(voice: Debater) -> JsonObject:
    tariff = voice.tariff
    return {
        "name": voice.name,
        "kind": str(voice.kind),
        "target": voice.target,
        "family": voice.family,
        "personas": [*voice.personas],
        "specialist": voice.specialist,
        "bounded": voice.bounded,
        "most_output": voice.max_output_tokens,
        "window": voice.window,
        "tariff": None if tariff is None else [str(tariff.input), str(tariff.output)],
        "clearance": str(voice.clearance),
    }


def voice_from(value: Mapping[str, Any]) -> Debater:
    tariff = value["tariff"]
    return Debater(
        name=value["name"],
        kind=DebaterKind(value["kind"]),
        target=value["target"],
        family=value["family"],
        personas=tuple(value["personas"]),
        specialist=value["specialist"],
        bounded=value["bounded"],
        max_output_tokens=value["most_output"],
        window=value.get("window"),
        tariff=None
        if tariff is None
        else Tariff(input=Decimal(tariff[0]), output=Decimal(tariff[1])),
        clearance=Label.parse(value["clearance"]),
    )


def note_columns(note: Note, label: Label) -> dict[str, object]:
    return {
        "name": strip_nul(note.name),
        **label_columns(label),
        "kind": str(note.kind),
        "voice": storable_or_none(note.voice),
        "round": note.round,
        "body": json.dumps(note.body, allow_nan=False),
        **cost_columns(note.cost),
        "prompt": note.prompt_tokens,
        "output": note.output_tokens,
        "overrun": note.overrun,
        "at": note.at,
    }


def note_from(row: Row) -> Note:
    return Note(
        name=row["name"],
        kind=NoteKind(row["kind"]),
        voice=row["voice"],
        round=row["round"],
        body=json.loads(row["body"]),
        cost=cost_from(row),
        at=row["at"],
        prompt_tokens=row["prompt_tokens"],
        output_tokens=row["output_tokens"],
        overrun=row["overrun"],
    )


def notes_from(rows: Sequence[Row]) -> tuple[Note, ...]:
    return tuple(note_from(row) for row in rows)


def question_from(body: str) -> str:
    text: str = json.loads(body)["question"]["text"]
    return text


def _question(value: Mapping[str, Any]) -> Question:
    return Question(
        text=value["text"],
        kind=QuestionKind(value["kind"]),
        choices=tuple(value["choices"]),
        topic=value["topic"],
        material=value["material"],
    )


def _rules(value: Mapping[str, Any]) -> Rules:
    return Rules(
        preset=Preset(value["preset"]),
        thoroughness=value["thoroughness"],
        first=value["first"],
        voices_most=value["voices_most"],
        rounds=value["rounds"],
        stop_at=value["stop_at"],
        decide_at=value["decide_at"],
        judge_pairs=value["judge_pairs"],
        quorum_share=value["quorum_share"],
        quorum_families=value["quorum_families"],
    )
