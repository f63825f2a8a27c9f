"""What a document's file looked like when its bytes were hashed, so that a sensor reads only what was touched."""

from alembic import op

revision = "0005"
down_revision = "0004"

STATEMENTS = """
alter table document add column file_bytes bigint, add column file_modified bigint;
comment on column document.file_modified is 'nanoseconds since 1970, as the source says; null: unknown';
"""


def upgrade() -> None:
    """Add them; unknown ones are noted by the next build."""
    op.execute(STATEMENTS)
