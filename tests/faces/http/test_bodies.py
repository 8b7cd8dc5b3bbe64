"""What a request may be made of, looked at over all routes."""

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

import portico.faces.http.app  # noqa: F401 # by which all bodies are imported
from portico.faces.http.words import Body

OTHERS = {bool: 1, int: "1", float: "1"}
"""What could be taken for one, and is none by the document."""


def bodies(kind: type[BaseModel] = Body) -> Iterator[type[BaseModel]]:
    for each in kind.__subclasses__():
        yield each
        yield from bodies(each)


def fields() -> Iterator[Any]:
    for body in bodies():
        for name, field in body.model_fields.items():
            for kind, other in OTHERS.items():
                if _is_one(field.annotation, kind):
                    wanted: Any = Annotated[field.annotation, field]  # ty: ignore[invalid-type-form] # made here
                    wish: TypeAdapter[Any] = TypeAdapter(wanted)
                    yield pytest.param(wish, other, id=f"{body.__name__}.{name}")


def _is_one(annotation: Any, kind: type) -> bool:
    alone = annotation is kind
    return alone or kind in [
        getattr(each, "__origin__", each) for each in getattr(annotation, "__args__", ())
    ]


@pytest.mark.parametrize(("wish", "other"), [*fields()])
def test_nothing_is_taken_for_what_it_is_not(wish: TypeAdapter[Any], other: object) -> None:
    with pytest.raises(ValidationError):
        wish.validate_python(other)
