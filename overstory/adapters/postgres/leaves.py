"""Leaves and the versions that hold them, in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from overstory.adapters.postgres.database import IN_SHARDS, Database, listed
from overstory.identity import DocumentId, NodeId, VersionId
from overstory.record import CutVersion

_LEAF = (
    ("id", "document_id", "content_hash", "text", "context", "tokens", "language"),
    ("uuid", "uuid", "text", "text", "text", "int4", "oid"),
)
_VERSION_LEAF = (
    ("version_id", "ordinal", "leaf_id", "start_char", "end_char", "headings"),
    ("uuid", "int4", "uuid", "int4", "int4", "text[]"),
)
_SECTION = (
    ("version_id", "ordinal", "first_leaf", "last_leaf", "heading", "child_hash"),
    ("uuid", "int4", "int4", "int4", "text", "text"),
)

_SIZES = f"""
select l.tokens, count(*) from leaf l join document d on d.id = l.document_id
where d.dataset = :dataset and {IN_SHARDS} group by l.tokens
"""

_CLEAR = """
delete from {table} using document_version v
where v.id = version_id and v.document_id = any(cast(:ids as uuid[]))
"""

_CURRENT = """
update document_version set chunk_recipe = :recipe, child_hash = :child_hash, tokens = :tokens,
    current_at = case when exists (select 1 from document d where d.current_version = :version)
                      then current_at else now() end
where id = :version
"""

_FORGET_TEXTS = """
update document_version set text = null where document_id = any(cast(:ids as uuid[])) and text is not null
"""

_ORPHANS = """
delete from leaf l where l.document_id = any(cast(:ids as uuid[]))
  and not exists (select 1 from version_leaf vl where vl.leaf_id = l.id)
returning l.id::text, l.document_id::text
"""

_WORDS = (
    """
update leaf l set language = cast(cast(:oid as oid) as regconfig)
from document d
where d.id = l.document_id and d.dataset = :dataset and d.shard = any(cast(:shards as int[]))
  and l.language <> cast(cast(:oid as oid) as regconfig)
""",
    """
update summary s set language = cast(cast(:oid as oid) as regconfig)
where s.dataset = :dataset and s.language <> cast(cast(:oid as oid) as regconfig)
  and coalesce((select d.shard from document d where d.id = s.document_id),
               (select c.shard from cluster c where c.id = s.cluster_id)) = any(cast(:shards as int[]))
""",
)
"""Postgres makes the column ``search`` anew from it."""

_READABLE = """
select vl.version_id::text, l.context || l.text
from version_leaf vl join leaf l on l.id = vl.leaf_id
where vl.version_id = any(cast(:ids as uuid[])) order by vl.version_id, vl.ordinal
"""


@dataclass(frozen=True, slots=True)
class PostgresLeaves:
    """``record.Leaves`` over Postgres."""

    db: Database

    def known(self, documents: Collection[DocumentId]) -> set[NodeId]:
        """Ids of all stored leaves of the documents."""
        found = self.db.rows(
            "select id::text from leaf where document_id = any(cast(:ids as uuid[]))", ids=list(documents)
        )
        return {NodeId(leaf) for (leaf,) in found}

    def make_current(
        self, cut: Sequence[CutVersion], new: Collection[NodeId], language: str
    ) -> list[tuple[NodeId, DocumentId]]:
        """Store new leaves, switch the versions to current and drop leaves that none holds."""
        ids = [version.document_id for version in cut]
        with self.db.transaction() as db:
            db.copy("leaf", *_LEAF, _leaf_rows(cut, set(new), db.language_oid(language)))
            db.run(_CLEAR.format(table="version_leaf"), ids=ids)
            db.run(_CLEAR.format(table="section"), ids=ids)
            db.copy("version_leaf", *_VERSION_LEAF, _version_leaf_rows(cut))
            db.copy("section", *_SECTION, _section_rows(cut))
            for version in cut:
                db.run(
                    _CURRENT,
                    version=version.version_id,
                    recipe=version.chunk_recipe,
                    child_hash=version.child_hash,
                    tokens=version.tokens,
                )
                db.run(
                    "update document set current_version = :version where id = :id",
                    version=version.version_id,
                    id=version.document_id,
                )
            # The leaves rebuild the text; a version that was replaced before it was cut has one to forget, too.
            db.run(_FORGET_TEXTS, ids=ids)
            return [(NodeId(leaf), DocumentId(document)) for leaf, document in db.rows(_ORPHANS, ids=ids)]

    def sizes(self, dataset: str, shards: Collection[int] | None = None) -> dict[int, int]:
        """How many leaves there are of each number of tokens."""
        return {tokens: count for tokens, count in self.db.rows(_SIZES, dataset=dataset, shards=listed(shards))}

    def language(self, dataset: str) -> str | None:
        """The language that the words of all leaves and summaries are indexed in; None where that is not known."""
        found = self.db.rows("select language from dataset where name = :dataset", dataset=dataset)
        return found[0][0] if found else None

    def index_words(self, dataset: str, language: str, shards: Collection[int]) -> int:
        """Index the words of the shards' leaves and summaries that are in another language; returns their number."""
        with self.db.transaction() as db:
            oid = db.language_oid(language)
            return sum(db.run(statement, dataset=dataset, oid=oid, shards=list(shards)) for statement in _WORDS)

    def set_language(self, dataset: str, language: str) -> None:
        """Note that the words of all leaves and summaries are indexed in a language."""
        self.db.run("update dataset set language = :l where name = :d", l=language, d=dataset)

    def readable(self, versions: Collection[VersionId]) -> dict[VersionId, list[str]]:
        """Texts with context of the versions' leaves, in order."""
        texts: dict[VersionId, list[str]] = {version: [] for version in versions}
        for version, text in self.db.rows(_READABLE, ids=list(versions)):
            texts[version].append(text)
        return texts


def _leaf_rows(cut: Sequence[CutVersion], new: set[NodeId], language: int) -> Iterator[Sequence[Any]]:
    for version in cut:
        for leaf in version.leaves:
            if leaf.id in new:
                yield (
                    UUID(leaf.id),
                    UUID(version.document_id),
                    leaf.content_hash,
                    leaf.text,
                    leaf.context,
                    leaf.tokens,
                    language,
                )


def _version_leaf_rows(cut: Sequence[CutVersion]) -> Iterator[Sequence[Any]]:
    for version in cut:
        for leaf in version.leaves:
            yield (
                UUID(version.version_id),
                leaf.ordinal,
                UUID(leaf.id),
                leaf.start,
                leaf.end,
                list(leaf.headings),
            )


def _section_rows(cut: Sequence[CutVersion]) -> Iterator[Sequence[Any]]:
    for version in cut:
        for row in version.sections:
            yield (
                UUID(version.version_id),
                row.ordinal,
                row.first_leaf,
                row.last_leaf,
                row.heading,
                row.child_hash,
            )
