"""The record: datasets, documents, versions, nodes, memberships, clusters, answers and the ledger."""

from alembic import op

revision = "0001"
down_revision = None

STATEMENTS = """
create table dataset (
    name text primary key,
    source text not null,
    embedding_hash text,
    created_at timestamptz not null default now()
);

create table document (
    id uuid primary key,
    dataset text not null references dataset on delete cascade,
    path text not null,
    shard smallint not null check (shard between 0 and 63),
    raw_hash text not null,
    content_hash text,
    title text not null default '',
    media_type text not null default '',
    failure text,
    current_version uuid,
    seen_at timestamptz not null default now(),
    unique (dataset, path)
);
create index on document (dataset, shard);
create index on document (current_version);

create table document_version (
    id uuid primary key,
    document_id uuid not null references document on delete cascade,
    number integer not null,
    content_hash text not null,
    chunk_recipe text,
    child_hash text,
    text text,
    chars integer not null,
    tokens integer,
    extracted_at timestamptz not null default now(),
    current_at timestamptz,
    unique (document_id, number)
);
comment on column document_version.text is 'the extracted text until its leaves are current; they rebuild it';

create table leaf (
    id uuid primary key,
    document_id uuid not null references document on delete cascade,
    content_hash text not null,
    text text not null,
    context text not null,
    tokens integer not null,
    language regconfig not null,
    search tsvector generated always as (to_tsvector(language, context || text)) stored
) with (toast_tuple_target = 8160);
comment on table leaf is 'rows stay uncompressed: ranking by words is two to three times as fast (docs/decisions/0008)';

create index on leaf (document_id);
create index leaf_search on leaf using gin (search);

create table version_leaf (
    version_id uuid not null references document_version on delete cascade,
    ordinal integer not null,
    leaf_id uuid not null references leaf,
    start_char integer not null,
    end_char integer not null,
    headings text[] not null,
    primary key (version_id, ordinal)
);
create index on version_leaf (leaf_id);

create table section (
    version_id uuid not null references document_version on delete cascade,
    ordinal integer not null,
    first_leaf integer not null,
    last_leaf integer not null,
    heading text not null,
    child_hash text not null,
    primary key (version_id, ordinal)
);

create table cluster (
    id uuid primary key,
    dataset text not null references dataset on delete cascade,
    level smallint not null check (level >= 2),
    kind text not null,
    shard smallint not null check (shard between 0 and 63)
);
create index on cluster (dataset, level);

create table membership (
    cluster_id uuid not null references cluster on delete cascade,
    member_id uuid not null,
    weight real not null check (weight > 0 and weight <= 1),
    primary key (cluster_id, member_id)
);
create index on membership (member_id);
comment on column membership.member_id is 'a document (level 2) or a cluster of the level below';

create table cluster_model (
    dataset text not null references dataset on delete cascade,
    level smallint not null,
    generation integer not null,
    embedding_hash text not null,
    state bytea not null,
    primary key (dataset, level)
);

create table summary (
    id uuid primary key,
    dataset text not null references dataset on delete cascade,
    kind text not null,
    level smallint not null,
    document_id uuid references document on delete cascade,
    cluster_id uuid references cluster on delete cascade,
    ordinal integer not null default 0,
    text text not null,
    text_hash text not null,
    child_hash text not null,
    recipe_hash text not null,
    failure text,
    tokens integer not null,
    fact_check jsonb,
    made_at timestamptz not null default now(),
    language regconfig not null,
    search tsvector generated always as (to_tsvector(language, text)) stored,
    check ((document_id is null) <> (cluster_id is null)),
    check ((failure is null) = (text <> ''))
) with (toast_tuple_target = 8160);
create index on summary (dataset, level, kind);
create index on summary (document_id);
create index on summary (cluster_id);
create index summary_search on summary using gin (search);

create table vector_table (
    name text primary key check (name ~ '^vector_[0-9a-f]{16}$'),
    dataset text not null references dataset on delete cascade,
    embedding_hash text not null,
    dimension integer not null,
    unique (dataset, embedding_hash)
);
comment on table vector_table is 'one table of vectors for each dataset and embedding';

create table answer (
    dataset text not null references dataset on delete cascade,
    child_hash text not null,
    recipe_hash text not null,
    text text not null,
    primary key (dataset, child_hash, recipe_hash)
);
comment on table answer is 'paid summaries, so that the same children and recipe never cost a second call';

create table ledger (
    id bigint generated always as identity primary key,
    dataset text not null references dataset on delete cascade,
    run_id text not null,
    at timestamptz not null default now(),
    node_id uuid,
    kind text not null,
    cause text not null,
    model text not null,
    tokens_in bigint not null,
    tokens_out bigint not null,
    usd double precision not null,
    seconds double precision not null,
    outcome text not null
);
create index on ledger (dataset, run_id);
create index on ledger (dataset, at);
"""


def upgrade() -> None:
    """Create the tables; the schema itself is made before Alembic runs, for its version table."""
    op.execute(STATEMENTS)
