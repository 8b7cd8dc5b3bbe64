"""What is drawn of agents: their form, their tools, their models, their versions."""

from dataclasses import replace

import pytest

from portico.agents.core.agent_checks import ValidationContext, flaws
from portico.agents.core.agents import TEMPLATES, AgentSpec, read_spec
from portico.agents.core.model_requests import ModelRef, ProviderState
from portico.gateway.core.catalog_snapshot import Definition, Tool, ToolRef
from portico.interfaces.console.forms import Form
from portico.interfaces.console.screens.agent_form import (
    INLINE,
    Draft,
    ModelsView,
    draft_of_form,
    draft_of_spec,
    effect_word,
    newest,
    path_of,
    rows_of,
    tree_of,
    wrong_at,
)
from portico.kernel.budget import Tokens
from portico.kernel.effect import Effect
from portico.testing.agents import a_model
from portico.testing.memory_store import BEGINNING
from tests.interfaces.console.chat_data import TEAM, a_run, an_agent


def a_tool(ref: str, tokens: int = 10, effect: Effect = Effect.LOCAL_READ) -> Tool:
    its = ToolRef.parse(ref)
    said = Definition(its.name, "", f"What {its.name} does.", {}, None, {}, {})
    return Tool(ref=its, definition=said, pin="p", tokens=Tokens(tokens), effect=effect)


TOOLS = [a_tool("files.read", 10), a_tool("files.write", 20), a_tool("mail.send", 40)]
NAMES = {str(each.ref) for each in TOOLS}
SPEC = AgentSpec(name="clerk", model="local:small", tools=("files.read", "mail.*", "*.write"))


@pytest.mark.parametrize("spec", [SPEC, *(each.spec for each in TEMPLATES)])
def test_a_form_that_nobody_touched_is_the_same_agent(spec: AgentSpec) -> None:
    whole = replace(spec, model="local:small", fallbacks=("a:b", "c:d"), temperature=0.5)

    read, unread = read_spec(draft_of_spec(whole, NAMES).as_json())

    assert unread == ()
    assert replace(read, instructions="", tools=tuple(sorted(read.tools))) == replace(
        whole, instructions="", tools=tuple(sorted(whole.tools))
    )


def test_tools_are_ticked_and_patterns_are_written() -> None:
    draft = draft_of_spec(SPEC, NAMES)

    assert draft.tools == ("files.read", "mail.*")
    assert draft.more == "*.write"


def test_what_a_whole_server_takes_in_is_not_said_beside_it() -> None:
    draft = Draft(tools=("files.*", "files.read", "mail.send", "mail.send"), more="a.b\n a.c ")

    assert draft.patterns == ["files.*", "mail.send", "a.b", "a.c"]


def test_what_is_no_number_is_told_at_its_field() -> None:
    form = Form(
        {"name": ["clerk"], "model": ["local:small"], "turns": ["many"], "money": ["much"]}
        | {"temperature": ["warm"], "tokens": ["200 000"], "tags": ["a, B"], "more": ["no.such"]}
    )
    draft = draft_of_form(form)
    spec, unread = read_spec(draft.as_json())
    known = ValidationContext(
        tools=sorted(NAMES), servers=["files", "no"], clearance=TEAM, task=TEAM
    )

    wrong = wrong_at([*unread, *flaws(spec, replace(known, servers=["files"]))], draft)

    assert set(wrong) == {"turns", "money", "temperature", "tags", "tools"}
    assert spec.limits.tokens == 200_000
    assert wrong["tags"][0].startswith("B must be small letters")
    assert wrong["tools"][0].startswith("no.such ")


def test_a_tree_sums_what_is_chosen_by_ticks_and_by_patterns() -> None:
    tree = tree_of(TOOLS, ["mail.*"], ["mail.*", "*.write"])

    assert (tree.size, tree.chosen, tree.tokens) == (3, 2, 60)
    assert [(each.server, each.whole, each.chosen) for each in tree.branches] == [
        ("files", False, 1),
        ("mail", True, 1),
    ]


def test_of_many_tools_only_what_is_ticked_opened_or_looked_for_is_drawn() -> None:
    many = [a_tool(f"big.t{number}") for number in range(INLINE + 1)] + TOOLS

    tree = tree_of(many, ["big.t7"], ["big.t7"])
    opened = tree_of(many, ["big.t7"], ["big.t7"], opened=["big"])
    found = tree_of(many, ["big.t7"], ["big.t7"], find="T12")

    assert [each.name for each in tree.branches[0].leaves] == ["t7"]
    assert tree.branches[0].left_out == INLINE
    assert len(opened.branches[0].leaves) == INLINE + 1
    assert [each.name for each in found.branches[0].leaves] == ["t7", "t12", "t120"]


@pytest.mark.parametrize(
    ("effect", "word"),
    [
        (Effect.PURE, "reads"),
        (Effect.EXTERNAL_READ, "reads"),
        (Effect.LOCAL_WRITE, "writes"),
        (Effect.IRREVERSIBLE, "cannot be undone"),
        (Effect.UNKNOWN, "cannot be undone"),
    ],
)
def test_what_a_tool_can_change_is_a_word(effect: Effect, word: str) -> None:
    assert effect_word(effect)[0] == word


def provider(name: str, *, reachable: bool = True) -> ProviderState:
    return ProviderState(
        name=name,
        kind="compatible",
        url="http://127.0.0.1",
        local=True,
        clearance=TEAM,
        reachable=reachable,
        why=None if reachable else "nobody answers",
        asked_at=BEGINNING,
    )


BOOK = ModelsView.of(
    [a_model(ModelRef("local", "small"))], [provider("local"), provider("away", reachable=False)]
)


@pytest.mark.parametrize(
    ("model", "word", "tone"),
    [
        ("local:small", "answers", "ok"),
        ("local:other", "not in its list", "warn"),
        ("away:any", "does not answer", "bad"),
        ("nobody:any", "no such provider", "bad"),
        ("", "none chosen", ""),
    ],
)
def test_the_health_of_a_model_is_a_word(model: str, word: str, tone: str) -> None:
    assert (BOOK.health(model).word, BOOK.health(model).tone) == (word, tone)


def test_what_is_chosen_can_be_chosen_whether_or_not_it_answers() -> None:
    groups = {each.provider: each for each in BOOK.groups("away:large")}

    assert [each.model for each in groups["away"].choices] == ["away:large"]
    assert groups["away"].health.why == "nobody answers"
    assert [each.provider for each in BOOK.groups("gone:x")] == ["local", "away", "gone"]
    assert BOOK.first == "local:small"
    assert ModelsView({}, {}).first == ""


def test_a_row_says_what_an_agent_has_and_did() -> None:
    agent = an_agent(SPEC)
    run = a_run(1, agent_name="clerk")

    [row] = rows_of([agent], BOOK, TOOLS, newest([run, a_run(2, agent_name="clerk")]))

    assert (row.tools, row.tokens, row.version, row.path) == (3, 70, 1, "/agents/clerk")
    assert row.last is not None
    assert row.last.run == str(run.run)


def test_an_agent_with_the_name_of_an_address_is_found_by_its_id() -> None:
    agent = an_agent(replace(SPEC, name="new"))

    assert path_of(agent) == f"/agents/{agent.id}"
