"""A server that cannot start, and says why; the secret it was given is in its words."""

import os
import sys


def main() -> None:
    sys.stderr.write(f"cannot log in with {os.environ.get('TOKEN', 'nothing')}\n")
    sys.exit(3)
