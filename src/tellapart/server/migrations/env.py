"""Alembic's way in: the connection is given by `database.py`, which holds the lock."""

from alembic import context

from tellapart.server.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
