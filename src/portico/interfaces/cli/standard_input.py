"""What stands for standard input where a file is asked for."""

from typing import Final

STANDARD_INPUT: Final = "/dev/stdin"
