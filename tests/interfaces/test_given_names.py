"""Names that programs know are given where they are made: none is that of a function or a class."""

import ast
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import pytest
from fastapi._compat import get_flat_models_from_fields
from fastapi.openapi.utils import get_fields_from_routes
from pydantic import BaseModel

from portico import interfaces
from portico.interfaces.http.schema_names import ENUMERATIONS, apply_schema_names
from tests.interfaces.http.conftest import built

FACES = Path(str(interfaces.__file__)).parent
MADE_BY = {
    "http": {"get", "post", "put", "patch", "delete"},
    "cli": {"command"},
}
FOR_BROWSERS = {"pages", "join_page"}
"""Routers of what is not in the document."""


def decorators(folder: str) -> Iterator[tuple[str, ast.expr]]:
    """Of routes, or of commands: each with the function that is under it."""
    for file in sorted((FACES / folder).glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for each in node.decorator_list:
                    maker = each.func if isinstance(each, ast.Call) else each
                    if isinstance(maker, ast.Attribute) and maker.attr in MADE_BY[folder]:
                        if ast.unparse(maker.value) in FOR_BROWSERS:
                            continue
                        yield f"{file.name}: {node.name}", each


@pytest.mark.parametrize("folder", MADE_BY)
def test_every_route_and_every_command_is_given_its_name(folder: str) -> None:
    unnamed = [
        place
        for place, each in decorators(folder)
        if not isinstance(each, ast.Call) or all(it.arg != "name" for it in each.keywords)
    ]

    assert unnamed == []


async def test_every_schema_is_given_its_name() -> None:
    site = await built()
    fields = get_fields_from_routes(site.inside.routes)
    found = get_flat_models_from_fields(fields, known_models=set())
    untitled = [
        each.__qualname__
        for each in found
        if issubclass(each, BaseModel)
        and not ({"title"} & each.model_config.keys() or each.__pydantic_generic_metadata__["args"])
    ]

    assert untitled == []
    assert {each for each in found if issubclass(each, Enum)} == set(ENUMERATIONS)


def test_two_schemas_that_differ_have_no_name_in_common() -> None:
    one, other = {"title": "Out", "type": "object"}, {"title": "Out", "type": "string"}

    with pytest.raises(ValueError, match="two schemas are called Out"):
        apply_schema_names({"components": {"schemas": {"a__Out": one, "b__Out": other}}})
