"""Files of one folder, reached from its descriptor and never by a path that was checked before."""
