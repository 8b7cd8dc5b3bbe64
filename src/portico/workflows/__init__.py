"""Many calls in one turn: plans and programs, run, followed, resumed and saved under a name."""
