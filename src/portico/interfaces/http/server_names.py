"""A server's name in an address."""

from typing import Annotated

from fastapi import Path

ServerName = Annotated[str, Path(max_length=80, description="As `portico servers list` shows it.")]
