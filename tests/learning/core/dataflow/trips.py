"""A plan of a journey: made-up tools with outputs that fit, nearly fit, and do not."""

from portico.learning.core.dataflow import texts_to_embed
from portico.learning.core.dataflow_fields import Meanings, OutputField, Parameter, StepSignature
from tests.gateway.core.shop import embedded


def field(path: str, kind: str | None = "string", about: str = "") -> OutputField:
    return OutputField(path=f"json.{path}", type=kind, description=about)


def parameter(name: str, kind: str | None = "string", about: str = "") -> Parameter:
    return Parameter(name=name, type=kind, description=about, required=True)


FERRY = StepSignature(
    step="ferry",
    tool="sea.find_ferry",
    description="Find a ferry between two harbours",
    outputs=[
        field("ferryId", about="Which ferry it is"),
        field("departure", about="When it leaves"),
        field("deck", "object", "What is on board"),
        field("cabins", "number"),
    ],
    given=frozenset({"harbour", "day"}),
)
TICKET = StepSignature(
    step="ticket",
    tool="sea.buy_ticket",
    outputs=[field("ticket_number"), field("price", "number")],
    wanted=[parameter("ferry_id", about="The ferry to go with"), parameter("name")],
)
LETTER = StepSignature(
    step="letter", tool="post.send", wanted=[parameter("message", about="What to write")]
)


def meanings(*steps: StepSignature) -> Meanings:
    texts = texts_to_embed(steps)
    return Meanings.of(texts, embedded(texts))
