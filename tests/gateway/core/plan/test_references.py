"""References and templates are read from their text, and written back to the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.plan.plan import Reference, Template
from portico.gateway.core.plan.references import (
    Unreadable,
    read_reference,
    read_template,
    references,
    write_template,
)


def test_a_reference_is_a_step_and_a_path() -> None:
    rows: list[tuple[str, Reference]] = [
        ("read", Reference("read")),
        ("read.text", Reference("read", "text")),
        (" read.content[0].text ", Reference("read", "content[0].text")),
        ("item[0]", Reference("item", "[0]")),
        ("item.[0]", Reference("item", "[0]")),
        ('my-step.json."a b"', Reference("my-step", 'json."a b"')),
        ("a.b\n.c", Reference("a", "b\n.c")),
    ]

    for text, reference in rows:
        assert read_reference(text) == reference
        assert read_reference(str(reference)) == reference


@pytest.mark.parametrize("text", ["", ".", "a.", "1a.b", "a b", "a..", "ä.text", "a[", "a" * 65])
def test_what_is_none_is_not_taken_for_one(text: str) -> None:
    if text in {"a..", "a["}:
        # What comes after the step's id is for JMESPath to judge.
        assert read_reference(text + "]").step == "a"
        return

    with pytest.raises(Unreadable):
        read_reference(text)


def test_a_template_is_texts_and_references() -> None:
    rows: list[tuple[str, tuple[str | Reference, ...]]] = [
        ("", ()),
        ("plain $ {x} $x", ("plain $ {x} $x",)),
        ("${a.text}", (Reference("a", "text"),)),
        ("to ${a.text}${b.text}!", ("to ", Reference("a", "text"), Reference("b", "text"), "!")),
        ("$${a.text}", ("${a.text}",)),
        ("costs $$${a.text}", ("costs $", Reference("a", "text"))),
        ("$$$${", ("$${",)),
        ("${a.{x: text}}}", (Reference("a", "{x: text}"), "}")),
        ("${a.'}'}", (Reference("a", "'}'"),)),
        (r"${a.'\'}'}", (Reference("a", r"'\'}'"),)),
        ('${a.`"{"`}', (Reference("a", '`"{"`'),)),
    ]

    for text, parts in rows:
        template = read_template(text)

        assert template.parts == parts
        assert read_template(write_template(template)) == template, text


@pytest.mark.parametrize("text", ["${", "x ${a.text", "${a.{x}", "${a.'}"])
def test_an_open_reference_is_no_template(text: str) -> None:
    with pytest.raises(Unreadable, match="never closed"):
        read_template(text)


@given(st.lists(st.text("${}a", max_size=6) | st.just(Reference("a", "text")), max_size=6))
def test_any_text_can_be_written_around_references(parts: list[str | Reference]) -> None:
    merged: list[str | Reference] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    template = Template(tuple(merged))

    assert read_template(write_template(template)) == template


def test_references_are_found_wherever_they_stand() -> None:
    one, two = Reference("a"), Reference("b")

    found = references({"x/y": [1, one], "t": Template(("say ", two)), "n": None}, "/arguments")

    assert [*found] == [("/arguments/x~1y/1/$from", one), ("/arguments/t/$text", two)]
