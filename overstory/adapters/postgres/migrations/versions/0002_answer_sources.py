"""Remembered answers know the documents that they saw, so that a deleted document is forgotten."""

from alembic import op

revision = "0002"
down_revision = "0001"

STATEMENTS = """
delete from answer;
alter table answer add column sources uuid[] not null;
create index on answer using gin (sources);
comment on column answer.sources is 'the documents and clusters whose text the answer is made from';
"""


def upgrade() -> None:
    """Forget answers of unknown origin: what they cost is paid once more where it is asked for again."""
    op.execute(STATEMENTS)
