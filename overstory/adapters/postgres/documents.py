"""Source documents and their versions in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from overstory.adapters.postgres.database import IN_SHARDS, Database, listed
from overstory.identity import DocumentId, NodeId, VersionId, version_id
from overstory.ports import FileState
from overstory.record import DocumentRow, PendingVersion, ScannedDocument

_ROWS = f"""
select d.id::text, d.path, d.shard, d.raw_hash, d.content_hash, d.failure, d.current_version::text,
       coalesce(v.number, 0), d.title, d.media_type, v.extraction_recipe, array[d.file_bytes, d.file_modified]
from document d
left join lateral (
    select number, extraction_recipe from document_version where document_id = d.id order by number desc limit 1
) v on true
where d.dataset = :dataset and {IN_SHARDS}
order by d.path
"""

_UPSERT = """
insert into document
    (id, dataset, path, shard, raw_hash, content_hash, title, media_type, failure, file_bytes, file_modified)
values (:id, :dataset, :path, :shard, :raw_hash, :content_hash, :title, :media_type, :failure, :bytes, :modified)
on conflict (id) do update set raw_hash = excluded.raw_hash, content_hash = excluded.content_hash,
    title = excluded.title, media_type = excluded.media_type, failure = excluded.failure,
    file_bytes = excluded.file_bytes, file_modified = excluded.file_modified, seen_at = now()
"""

_NOTE_FILES = """
update document d set file_bytes = f.bytes, file_modified = f.modified
from unnest(cast(:ids as uuid[]), cast(:bytes as bigint[]), cast(:modified as bigint[])) as f (id, bytes, modified)
where d.id = f.id
"""

_NEW_VERSION = """
insert into document_version (id, document_id, number, content_hash, text, chars, extraction_recipe, reextracted)
values (:id, :document_id, :number, :content_hash, :text, :chars, :extraction_recipe, :reextracted)
"""

_READ_AGAIN = """
update document_version set extraction_recipe = :recipe where id = :id and extraction_recipe is distinct from :recipe
"""

_PENDING = f"""
select d.id::text, d.path, v.id::text, d.current_version::text
from document d
join lateral (
    select id, chunk_recipe from document_version where document_id = d.id order by number desc limit 1
) v on true
where d.dataset = :dataset and {IN_SHARDS}
  and (v.id is distinct from d.current_version or v.chunk_recipe is distinct from :recipe)
order by d.id
"""

_EXTRACTED = "select id::text, text from document_version where id = any(cast(:ids as uuid[])) and text is not null"

_REBUILT = """
select vl.version_id::text, vl.start_char, l.text
from version_leaf vl join leaf l on l.id = vl.leaf_id
where vl.version_id = any(cast(:ids as uuid[]))
order by vl.version_id, vl.ordinal
"""

_WITHHELD = """
select w.document_id::text, w.approved
from withheld_deletion w join document d on d.id = w.document_id where d.dataset = :dataset
"""

_NO_LONGER_WITHHELD = """
delete from withheld_deletion w using document d
where d.id = w.document_id and d.dataset = :dataset and not w.document_id = any(cast(:ids as uuid[]))
"""

_WITHHOLD = """
insert into withheld_deletion (document_id, approved)
select id, :approved from unnest(cast(:ids as uuid[])) as missing (id)
on conflict (document_id) do update set approved = true where excluded.approved and not withheld_deletion.approved
"""

_CUT_OFF_LEAVES = """
delete from version_leaf using document_version v
where v.id = version_id and v.document_id = any(cast(:ids as uuid[]))
"""

_CLEAR = (
    "update document set current_version = null, content_hash = null where id = any(cast(:ids as uuid[]))",
    "delete from document_version where document_id = any(cast(:ids as uuid[]))",
    "delete from leaf where document_id = any(cast(:ids as uuid[]))",
)

_LEFT = "delete from membership where member_id = any(cast(:ids as uuid[])) returning cluster_id::text"

_EMPTIED = """
select c.id::text from cluster c
where c.id = any(cast(:ids as uuid[])) and not exists (select 1 from membership m where m.cluster_id = c.id)
"""


@dataclass(frozen=True, slots=True)
class PostgresDocuments:
    """``record.Documents`` over Postgres."""

    db: Database

    def rows(self, dataset: str, shards: Collection[int] | None = None) -> list[DocumentRow]:
        """All documents of the shards, by path."""
        found = self.db.rows(_ROWS, dataset=dataset, shards=listed(shards))
        return [replace(DocumentRow(*row), file=_file(*file)) for *row, file in found]

    def save_scan(self, dataset: str, scanned: Sequence[ScannedDocument]) -> None:
        """Insert or update documents, and a new version for each that has a text."""
        with self.db.transaction() as db:
            for item in scanned:
                row = item.row
                db.run(
                    _UPSERT,
                    id=row.id,
                    dataset=dataset,
                    path=row.path,
                    shard=row.shard,
                    raw_hash=row.raw_hash,
                    content_hash=row.content_hash,
                    title=row.title,
                    media_type=row.media_type,
                    failure=row.failure,
                    bytes=row.file.size_bytes if row.file else None,
                    modified=row.file.modified if row.file else None,
                )
            for item in scanned:
                row = item.row
                if item.text is not None:
                    self._add_version(db, item, item.text)
                elif row.last_number:
                    db.run(_READ_AGAIN, id=version_id(row.id, row.last_number), recipe=row.extraction_recipe)

    @staticmethod
    def _add_version(db: Database, item: ScannedDocument, text: str) -> None:
        row, number = item.row, item.row.last_number + 1
        db.run(
            _NEW_VERSION,
            id=version_id(row.id, number),
            document_id=row.id,
            number=number,
            content_hash=row.content_hash,
            text=text,
            chars=len(text),
            extraction_recipe=row.extraction_recipe,
            reextracted=item.reextracted,
        )

    def note_files(self, rows: Sequence[DocumentRow]) -> None:
        """Keep the size and time of the files of documents that are otherwise as they were."""
        files = [(row.id, row.file) for row in rows if row.file is not None]
        self.db.run(
            _NOTE_FILES,
            ids=[document for document, _ in files],
            bytes=[file.size_bytes for _, file in files],
            modified=[file.modified for _, file in files],
        )

    def move(self, moves: Mapping[DocumentId, str]) -> None:
        """Give documents new paths, all at once, so that two may swap theirs."""
        with self.db.transaction() as db:
            for document in moves:
                db.run("update document set path = 'moving:' || id where id = :id", id=document)
            for document, path in moves.items():
                db.run("update document set path = :path, seen_at = now() where id = :id", id=document, path=path)

    def delete(self, documents: Collection[DocumentId]) -> list[NodeId]:
        """Remove documents, the clusters that they leave empty, and the remembered answers that saw them.

        Returns:
            Ids of the summaries of those clusters.
        """
        with self.db.transaction() as db:
            ids = list(documents)
            db.run("delete from answer where sources && cast(:ids as uuid[])", ids=ids)
            nodes = _leave_clusters(db, ids)
            db.run(_CUT_OFF_LEAVES, ids=ids)
            db.run("delete from document where id = any(cast(:ids as uuid[]))", ids=ids)
        return nodes

    def clear(self, documents: Collection[DocumentId]) -> list[NodeId]:
        """Remove all versions of documents with their leaves, and the clusters that they leave empty.

        Returns:
            Ids of the summaries of those clusters.
        """
        with self.db.transaction() as db:
            ids = list(documents)
            nodes = _leave_clusters(db, ids)
            for statement in (_CUT_OFF_LEAVES, *_CLEAR):
                db.run(statement, ids=ids)
        return nodes

    def withheld(self, dataset: str) -> dict[DocumentId, bool]:
        """Documents that the source no longer lists and that were kept; true where their deletion is approved."""
        return {DocumentId(document): approved for document, approved in self.db.rows(_WITHHELD, dataset=dataset)}

    def withhold(self, dataset: str, documents: Collection[DocumentId], *, approved: bool = False) -> None:
        """Note exactly these documents as withheld; ``approved`` approves of their deletion, and takes nothing back."""
        with self.db.transaction() as db:
            db.run(_NO_LONGER_WITHHELD, dataset=dataset, ids=list(documents))
            db.run(_WITHHOLD, ids=list(documents), approved=approved)

    def pending(self, dataset: str, chunk_recipe: str, shards: Collection[int] | None = None) -> list[PendingVersion]:
        """Versions whose leaves are to be cut, by document id."""
        found = self.db.rows(_PENDING, dataset=dataset, recipe=chunk_recipe, shards=listed(shards))
        return [
            PendingVersion(document, path, version, None if current == version else current)
            for document, path, version, current in found
        ]

    def texts(self, versions: Collection[VersionId]) -> dict[VersionId, str]:
        """The texts of versions: as extracted, or rebuilt from their leaves."""
        ids = list(versions)
        texts = {VersionId(v): text for v, text in self.db.rows(_EXTRACTED, ids=ids)}
        rebuilt: dict[VersionId, str] = {}
        for version, start, text in self.db.rows(_REBUILT, ids=[v for v in ids if v not in texts]):
            so_far = rebuilt.get(version, "")
            rebuilt[version] = so_far + text[len(so_far) - start :]
        return texts | rebuilt


def _file(size_bytes: int | None, modified: int | None) -> FileState | None:
    return None if size_bytes is None or modified is None else FileState(size_bytes, modified)


def _leave_clusters(db: Database, documents: Sequence[str]) -> list[NodeId]:
    """Take members out of their clusters; those left without any go, level by level. Returns their summaries."""
    nodes: list[NodeId] = []
    leaving = list(documents)
    while leaving:
        left = {cluster for (cluster,) in db.rows(_LEFT, ids=leaving)}
        leaving = [cluster for (cluster,) in db.rows(_EMPTIED, ids=list(left))]
        found = db.rows(
            "delete from summary where cluster_id = any(cast(:ids as uuid[])) returning id::text", ids=leaving
        )
        nodes += [NodeId(node) for (node,) in found]
        db.run("delete from cluster where id = any(cast(:ids as uuid[]))", ids=leaving)
    return nodes
