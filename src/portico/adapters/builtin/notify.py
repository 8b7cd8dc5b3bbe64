"""`notify`: tell the people of the space something; as secret as what the caller has read."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Final

from portico.adapters.builtin import given
from portico.adapters.builtin.answers import told
from portico.adapters.builtin.errors import BadBody
from portico.adapters.builtin.tool import AboutTheHouse, Errand, Offered, hints, schema
from portico.gateway.core.calls import Answer
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_TITLE: Final = 120
_TEXT: Final = 2_000

Tell = Callable[[Principal, str, str], Awaitable[Label]]

NOTIFY: Final = Offered(
    {
        "name": "notify",
        "title": "Notify people",
        "description": (
            "Tell the people of this space something, such as that a long task is done. They see "
            "who said it. Only those see it who may know all that you have read in this task."
        ),
        "inputSchema": schema(
            {
                "title": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": _TITLE,
                    "description": "One line.",
                },
                "text": {"type": "string", "maxLength": _TEXT, "default": ""},
            },
            required=["title"],
        ),
        "outputSchema": schema(
            {"label": {"type": "string", "description": "How secret it is."}}, required=["label"]
        ),
        "annotations": hints(),
    },
    Effect.LOCAL_WRITE,
)


class Notify(AboutTheHouse[Tell]):
    offered: ClassVar[Offered] = NOTIFY

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        title = _writable(given.text(arguments, "title"))
        text = _writable(given.text(arguments, "text"))
        label = await self.door(errand.asker, title, text)
        words = f"Told to everybody here who may know what is {label}."
        return told(words, {"label": str(label)})


def _writable(text: str) -> str:
    """Raises `BadBody`."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadBody("there is half of a surrogate pair in it") from error
    return text.replace("\0", "")
