"""Embedders are remembered with their canonical vector, so that the same one is recognized without a call."""

from alembic import op

revision = "0006"
down_revision = "0005"

STATEMENTS = """
create table embedder (
    recipe text not null,
    embedding_hash text not null,
    name text not null,
    settings jsonb not null,
    canonical real[] not null,
    checked_run text not null default '',
    doubted boolean not null default false,
    held_at timestamptz not null default now(),
    primary key (recipe, embedding_hash)
);
create index on embedder (embedding_hash);
create index on embedder (name);
comment on column embedder.recipe is 'the settings that decide vectors; they open the embedder of the newest row';
comment on column embedder.settings is 'how to open it again; no key is in them';
comment on column embedder.checked_run is 'the last run that compared the canonical vector';
comment on column embedder.doubted is 'it has given another canonical vector: ask before it is used';
"""


def upgrade() -> None:
    """Make room; an embedder in use is recognized by its embedding hash, at one more call."""
    op.execute(STATEMENTS)
