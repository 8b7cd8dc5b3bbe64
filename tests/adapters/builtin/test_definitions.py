"""What our own tools say of themselves is fit to be approved, and known to our list."""

import json
from collections import defaultdict

import pytest

from portico.adapters.builtin.offers import INSTRUCTIONS, LAUNCH, OFFERED, VERSION
from portico.adapters.builtin.tool import Offered
from portico.adapters.json_schema.check import JsonSchemaCheck
from portico.adapters.system.shipped_effects import shipped_effects
from portico.gateway.core.package import package_of
from portico.gateway.core.pin import definition_pin
from portico.gateway.core.proposal import propose
from portico.gateway.core.reading import read_instructions, read_tools
from portico.gateway.core.tool import Definition
from portico.kernel.effect import Effect

NAMES = [offered.name for offered in OFFERED]


def test_all_of_it_is_readable() -> None:
    read = read_tools([offered.definition for offered in OFFERED])

    assert read.unreadable == []
    assert [each.name for each in read.definitions] == NAMES
    assert read_instructions(INSTRUCTIONS) == INSTRUCTIONS


def test_our_list_has_exactly_these_definitions() -> None:
    wanted: dict[str, list[str]] = defaultdict(list)
    for offered in OFFERED:
        wanted[offered.effect].append(definition_pin(offered.definition))
    listed: dict[str, list[str]] = defaultdict(list)
    for pin, effect in shipped_effects().listed["portico:builtin"][VERSION].items():
        listed[effect].append(pin)

    right = {effect: sorted(pins) for effect, pins in sorted(wanted.items())}
    assert {effect: sorted(pins) for effect, pins in sorted(listed.items())} == right, (
        f"gateway/core/data/effects.json should say: {json.dumps({VERSION: right}, indent=1)}"
    )


@pytest.mark.parametrize("offered", OFFERED, ids=NAMES)
def test_its_effect_is_proposed_to_whoever_approves_it(offered: Offered) -> None:
    [definition] = read_tools([offered.definition]).definitions

    proposal = propose(definition, shipped=shipped_effects(), package=package_of(LAUNCH))

    assert proposal.effect is offered.effect
    assert proposal.why == f"listed for builtin {VERSION}"


@pytest.mark.parametrize("offered", OFFERED, ids=NAMES)
def test_what_it_says_of_itself_is_not_better_than_its_effect(offered: Offered) -> None:
    [definition] = read_tools([offered.definition]).definitions

    assert definition.annotations["readOnlyHint"] is offered.effect.reads_only
    outside = {Effect.EXTERNAL_READ, Effect.EXTERNAL_WRITE}
    assert definition.annotations["openWorldHint"] is (offered.effect in outside)


@pytest.mark.parametrize("offered", OFFERED, ids=NAMES)
def test_its_schemas_can_be_checked_against(offered: Offered) -> None:
    [definition] = read_tools([offered.definition]).definitions
    assert definition.output_schema is not None

    flaws = JsonSchemaCheck().flaws(definition.input_schema, {"nobody": "asked"})
    JsonSchemaCheck().flaws(definition.output_schema, {})

    assert flaws
    assert _described(definition)


def _described(definition: Definition) -> bool:
    return len(definition.description) > 40 and bool(definition.title)
