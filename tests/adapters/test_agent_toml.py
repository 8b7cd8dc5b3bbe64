"""Agents as TOML, for people and for programs alike."""

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.agent_toml import TomlAgentFiles
from portico.agents.core.agents import TEMPLATES, Template, spec_from, spec_json
from portico.agents.core.errors import InvalidAgentFile
from portico.testing.agent_data import an_agent_spec

FILES = TomlAgentFiles()
LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.just("\n"))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_what_is_taken_out_is_brought_in_as_it_was(template: Template) -> None:
    spec = replace(template.spec, model="a:b", temperature=0.25)

    text = FILES.write(spec_json(spec))

    assert spec_from(FILES.read(text)) == spec
    assert spec_from(tomllib.loads(text)) == spec
    assert '"""\nYou ' in text


@given(LINES)
def test_no_text_is_lost_on_the_way(text: str) -> None:
    written = FILES.write({"instructions": text})

    assert FILES.read(written)["instructions"] == text
    assert tomllib.loads(written)["instructions"] == text


@pytest.mark.parametrize(
    "text", ['"""', 'a\n"""b"""', "a\\\n  b", "\n\na", "a\r\nb\n", "tab\t\n", '\n"', "a\n\x85"]
)
def test_not_even_odd_ones(text: str) -> None:
    written = FILES.write(spec_json(an_agent_spec(instructions=text)))

    assert spec_from(tomllib.loads(written)).instructions == text


@pytest.mark.parametrize("text", ["a = ", "a = [[", "a = 1\na = 2", "[" * 100, "x" * 300_001])
def test_what_is_no_file_of_ours_is_refused(text: str) -> None:
    with pytest.raises(InvalidAgentFile):
        FILES.read(text)
