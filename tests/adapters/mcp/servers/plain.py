"""A server of the older era that does all that it is asked for."""

import sys

from tests.adapters.mcp.servers.speech import Speaker, say_to_people


def main() -> None:
    say_to_people(f"started with {sys.argv[1:]}")
    Speaker().run()
