"""PostgreSQL: the embedded server, connections, migrations, and one file a port."""
