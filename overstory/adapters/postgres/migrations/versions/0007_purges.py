"""Documents that were purged, by ids alone, so that a build leaves them out although their files are still there."""

from alembic import op

revision = "0007"
down_revision = "0006"

STATEMENTS = """
create table purged_document (
    dataset text not null references dataset on delete cascade,
    place uuid not null,
    document_id uuid not null,
    at timestamptz not null default now(),
    primary key (dataset, place)
);
comment on column purged_document.place is 'the id that a new document at its path would have';
"""


def upgrade() -> None:
    """Make room; nothing has been purged yet."""
    op.execute(STATEMENTS)
