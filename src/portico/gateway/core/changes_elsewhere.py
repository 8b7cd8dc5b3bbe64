"""When a call that another process makes can have changed what was read since some moment."""

from datetime import timedelta
from typing import Final

from portico.gateway.core.call import MARGIN, UNBOUNDED, CallOutcome

SKEW: Final = timedelta(seconds=2)
"""By which the clocks of two machines may differ."""
REST: Final = timedelta(minutes=1)
"""For which what nobody knows the end of may still be going on."""
OLDEST: Final = UNBOUNDED + MARGIN
"""Ago, when what is still under way may have begun."""
KNOWN: Final = (CallOutcome.DONE, CallOutcome.FAILED)
"""It was answered, one way or the other."""
