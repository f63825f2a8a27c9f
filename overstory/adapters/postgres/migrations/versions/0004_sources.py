"""Withheld deletions, how a text was extracted, and the language that words are ranked in."""

from alembic import op

revision = "0004"
down_revision = "0002"

STATEMENTS = """
create table withheld_deletion (
    document_id uuid primary key references document on delete cascade,
    since timestamptz not null default now(),
    approved boolean not null default false
);
comment on table withheld_deletion is 'documents that the source no longer lists and that stay until somebody approves';

alter table document_version add column extraction_recipe text;
comment on column document_version.extraction_recipe is 'what last read this text; null: unknown, to be read again';

alter table document_version add column reextracted boolean not null default false;
comment on column document_version.reextracted is 'made from the bytes of the version before, by another extractor';

alter table dataset add column language text;
comment on column dataset.language is 'the text search configuration of all leaves and summaries; null: unknown';
"""


def upgrade() -> None:
    """Add them; what is unknown is found out by the next build, without a call."""
    op.execute(STATEMENTS)
