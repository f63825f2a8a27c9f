"""Since when builds ask for the present recipe of each kind of summary: what it makes stale is as old as that."""

from alembic import op

revision = "0008"
down_revision = "0007"

STATEMENTS = """
create table recipe_seen (
    dataset text not null references dataset on delete cascade,
    kind text not null,
    recipe_hash text not null,
    first_seen timestamptz not null default now(),
    primary key (dataset, kind)
);
comment on table recipe_seen is 'what the last build asked for, and since when builds have done so without a break';
"""


def upgrade() -> None:
    """Make room; since when the present recipes are asked for is not known."""
    op.execute(STATEMENTS)
