"""Templates: everything is escaped, and what is missing is an error."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from portico.interfaces.console import wording
from portico.interfaces.console.markdown import markdown
from portico.interfaces.console.static_files import address

_FILTERS: Final = {
    "ago": wording.ago,
    "until": wording.until,
    "took": wording.took,
    "count": wording.count,
    "short": wording.short,
    "money": wording.money,
    "percent": wording.percent,
    "json": wording.as_json,
    "stamp": wording.stamp,
    "plural": wording.plural,
    "markdown": markdown,
}


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("portico.interfaces.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(_FILTERS)
    shared: dict[str, Any] = made.globals
    shared["static"] = address
    return made


def render(template: str, values: Mapping[str, Any]) -> bytes:
    text = environment().get_template(template).render(values)
    return text.encode(errors="replace")  # half of a surrogate pair is no letter
