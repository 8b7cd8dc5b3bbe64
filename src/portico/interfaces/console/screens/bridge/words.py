"""What is said after something was done here."""

from typing import Final

from starlette.requests import Request

_SAID: Final = {
    "made": "It is there.",
    "archived": "Put away. Nothing is written there any more.",
    "taken_out": "Taken out of the archive.",
    "muted": "Muted: what is said here does not count as unread for you.",
    "loud": "No longer muted.",
    "joined": "You take part from now on.",
    "left": "You take part no more.",
    "let_in": "They take part from now on.",
    "raised": "Sent. It is more secret than its conversation, since you have read something "
    "here that is.",
    "absent": "Sent. Not everybody whom it names takes part here: it is not in their inbox.",
    "edited": "Changed. What it said before stays in its versions.",
    "deleted": "Deleted. That it was there remains.",
    "confirmed": "They are told that you have it.",
    "proposed": "Asked for. Somebody else has to say yes: it waits under Approvals.",
    "remembered": "Remembered.",
    "forgotten": "Forgotten. Its history stays.",
    "added": "Added.",
    "claimed": "It is yours now.",
    "handed_over": "Handed over.",
    "ended": "Ended.",
    "released": "Released.",
    "leased": "It is yours for a while.",
    "budget": "The budget is set.",
}


def said(request: Request) -> str | None:
    return _SAID.get(request.query_params.get("done", ""))
