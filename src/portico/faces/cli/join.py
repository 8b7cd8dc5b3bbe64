"""Accept an invitation."""

from urllib.parse import urlsplit

from portico.faces.cli.terminal import At
from portico.kernel.errors import Kind, PorticoError


class BadLink(PorticoError):
    kind = Kind.INVALID
    code = "bad_link"
    title = "Not an invitation link"
    fix = "Copy the whole link, in quotes, with the part behind the #."

    def __init__(self) -> None:
        super().__init__("An invitation link looks like http://…/join#ptc_…")


def join(link: str, *, save: bool = False, at: At) -> None:
    """Accept an invitation; prints your key, this once.

    Parameters
    ----------
    link
        The whole link, in quotes, with the part behind the #.
    save
        Keep the key in this installation's key file instead of printing it.
    """
    from portico.faces.cli.server import Server

    parts = urlsplit(link)
    if not parts.netloc or not parts.fragment.startswith("ptc_"):
        raise BadLink
    url = f"{parts.scheme}://{parts.netloc}"
    made = Server(at.house, key=parts.fragment, url=url).post("/invitations/accept")
    if save:
        file = at.house.save_key(made["key"])
        at.data({"key_file": str(file)}, f"Welcome. Your key is in {file}.")
        return
    at.say("Welcome. Keep your key now: it is not shown again.")
    at.data(made, made["key"])
