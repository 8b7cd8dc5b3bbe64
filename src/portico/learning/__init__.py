"""What repeated work teaches: the graph of tools, suggested plans, dataflow, prefetched reads."""
