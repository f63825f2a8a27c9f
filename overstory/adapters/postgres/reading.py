"""Reads of single nodes and of what lies around them, for searches and views."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from overstory.adapters.postgres.database import Database
from overstory.adapters.postgres.summaries import stored_summary
from overstory.identity import ClusterId, DocumentId, NodeId
from overstory.retrieval.ports import LeafRow, Scope, SummaryText

MOST_MATCHES = 8
"""Nodes named where a prefix is not unique."""

_ID_PREFIX = re.compile(r"[0-9a-f]{4,32}")

_LEAVES = """
select l.id::text, d.id::text, d.path, d.title, vl.ordinal, vl.start_char, vl.end_char, vl.headings, l.text, l.context,
       l.content_hash, l.tokens
from leaf l
join document d on d.id = l.document_id
join version_leaf vl on vl.version_id = d.current_version and vl.leaf_id = l.id
where d.dataset = :dataset and l.id = any(cast(:ids as uuid[]))
"""

_SUMMARIES = """
select s.id::text, s.kind, s.ordinal, s.child_hash, s.recipe_hash, s.text_hash, s.failure, s.level,
       s.document_id::text, s.cluster_id::text, coalesce(d.path, ''), coalesce(d.title, ''), s.text, s.tokens,
       s.fact_check, coalesce(x.heading, ''), place.first, place.last
from summary s
left join document d on d.id = s.document_id
left join section x on s.kind = 'section_summary' and x.version_id = d.current_version and x.ordinal = s.ordinal
left join lateral (
    select min(vl.start_char) as first, max(vl.end_char) as last
    from version_leaf vl
    where vl.version_id = d.current_version and (
        s.kind = 'document_summary'
        or (s.kind = 'section_summary' and vl.ordinal between x.first_leaf and x.last_leaf)
        or (s.kind = 'chunk_summary' and vl.ordinal = s.ordinal))
) place on true
where s.dataset = :dataset and s.id = any(cast(:ids as uuid[]))
"""

_SCOPES = """
with recursive below (root, member_id) as (
    select s.id, m.member_id
    from summary s join membership m on m.cluster_id = s.cluster_id
    where s.dataset = :dataset and s.id = any(cast(:ids as uuid[]))
    union
    select b.root, m.member_id from below b join membership m on m.cluster_id = b.member_id
)
select b.root::text, b.member_id::text, 0, null::int from below b join document d on d.id = b.member_id
union all
select s.id::text, s.document_id::text, coalesce(x.first_leaf, 0), x.last_leaf
from summary s
join document d on d.id = s.document_id
left join section x on s.kind = 'section_summary' and x.version_id = d.current_version and x.ordinal = s.ordinal
where s.dataset = :dataset and s.id = any(cast(:ids as uuid[]))
"""

_LEAVES_OF = """
select d.id::text, vl.leaf_id::text
from document d join version_leaf vl on vl.version_id = d.current_version
where d.dataset = :dataset and d.id = any(cast(:ids as uuid[]))
order by d.id, vl.ordinal
"""

_CHANGED = """
select d.id::text
from document d join document_version v on v.id = d.current_version
where d.dataset = :dataset and d.id = any(cast(:ids as uuid[]))
  and (v.chunk_recipe is distinct from :recipe or d.failure is not null
       or exists (select 1 from document_version n where n.document_id = d.id and n.number > v.number))
"""

_BY_PATH = "select 'document', id::text from document where dataset = :dataset and path = :name"

_BY_ID = f"""
select * from (
    select 'leaf', l.id::text as id
    from leaf l
    join document d on d.id = l.document_id
    join version_leaf vl on vl.version_id = d.current_version and vl.leaf_id = l.id
    where d.dataset = :dataset and l.id between cast(:low as uuid) and cast(:high as uuid)
    union all
    select 'summary', id::text from summary
    where dataset = :dataset and id between cast(:low as uuid) and cast(:high as uuid)
    union all
    select 'document', id::text from document
    where dataset = :dataset and id between cast(:low as uuid) and cast(:high as uuid)
    union all
    select 'cluster', id::text from cluster
    where dataset = :dataset and id between cast(:low as uuid) and cast(:high as uuid)
) as found order by id limit {MOST_MATCHES}
"""

_CLUSTERS_OF = """
select m.member_id::text, c.id::text
from membership m join cluster c on c.id = m.cluster_id
where c.dataset = :dataset and m.member_id = any(cast(:ids as uuid[]))
order by m.member_id, m.weight desc, c.id
"""


def leaf_rows(db: Database, dataset: str, leaves: Collection[NodeId]) -> dict[NodeId, LeafRow]:
    """Leaves of current versions."""
    rows = db.rows(_LEAVES, dataset=dataset, ids=list(leaves))
    found = (LeafRow(*row) for row in rows)
    return {row.id: replace(row, headings=tuple(row.headings)) for row in found}


def summary_rows(db: Database, dataset: str, summaries: Collection[NodeId]) -> dict[NodeId, SummaryText]:
    """Stored summaries, failed ones too."""
    found = db.rows(_SUMMARIES, dataset=dataset, ids=list(summaries))
    return {NodeId(row[0]): SummaryText(stored_summary(row[:7]), *row[7:]) for row in found}


def scopes(db: Database, dataset: str, summaries: Collection[NodeId]) -> dict[NodeId, Scope]:
    """What lies beneath summaries."""
    documents: dict[str, set[DocumentId]] = {}
    ranges: dict[str, tuple[int, int | None]] = {}
    for node, document, first, last in db.rows(_SCOPES, dataset=dataset, ids=list(summaries)):
        documents.setdefault(node, set()).add(DocumentId(document))
        ranges[node] = (first, last)
    return {NodeId(node): Scope(frozenset(found), *ranges[node]) for node, found in documents.items()}


def leaves_of(db: Database, dataset: str, documents: Collection[DocumentId]) -> dict[DocumentId, tuple[NodeId, ...]]:
    """Ids of the leaves of documents' current versions, in order."""
    found: dict[DocumentId, list[NodeId]] = {}
    for document, leaf in db.rows(_LEAVES_OF, dataset=dataset, ids=list(documents)):
        found.setdefault(DocumentId(document), []).append(NodeId(leaf))
    return {document: tuple(leaves) for document, leaves in found.items()}


def changed(db: Database, dataset: str, documents: Collection[DocumentId], chunk_recipe: str) -> frozenset[DocumentId]:
    """Documents that cannot be read any more, have a newer version, or leaves cut by another recipe."""
    found = db.rows(_CHANGED, dataset=dataset, ids=list(documents), recipe=chunk_recipe)
    return frozenset(DocumentId(document) for (document,) in found)


def identify(db: Database, dataset: str, name: str) -> list[tuple[str, str]]:
    """(what, id) of nodes, documents and clusters whose id begins with ``name`` or whose path it is."""
    if "\0" in name:
        return []
    by_path = db.rows(_BY_PATH, dataset=dataset, name=name)
    digits = name.lower().replace("-", "")
    if by_path or not _ID_PREFIX.fullmatch(digits):
        return [(what, node) for what, node in by_path]
    found = db.rows(_BY_ID, dataset=dataset, low=digits.ljust(32, "0"), high=digits.ljust(32, "f"))
    return [(what, node) for what, node in found]


def clusters_of(db: Database, dataset: str, members: Sequence[str]) -> dict[str, list[ClusterId]]:
    """The clusters that each document or cluster is a member of, the closest first."""
    found: dict[str, list[ClusterId]] = {}
    for member, cluster in db.rows(_CLUSTERS_OF, dataset=dataset, ids=list(members)):
        found.setdefault(member, []).append(ClusterId(cluster))
    return found
