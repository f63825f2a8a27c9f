"""Runs the migrations of the record in its own schema, apart from Dagster's history in the same database."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, version_table="schema_version", version_table_schema="overstory")
with context.begin_transaction():
    context.run_migrations()
