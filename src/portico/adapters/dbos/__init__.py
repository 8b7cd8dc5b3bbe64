"""DBOS: the line in which legs stand, and who takes them up. The only importer of `dbos`."""
