"""A dataset in a folder, built through its use cases, with what its stores hold to look at."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overstory import api
from overstory.adapters.database_url import sqlalchemy_url
from overstory.adapters.postgres.inspection import PostgresInspection
from overstory.adapters.postgres.record import PostgresRecord
from overstory.building.cluster_summaries import summarize_clusters
from overstory.building.context import BuildContext
from overstory.building.document_summaries import summarize_documents
from overstory.building.documents import sync_documents
from overstory.building.health import Health, examine
from overstory.building.leaves import cut_leaves
from overstory.building.memberships import update_memberships
from overstory.building.plan import plan
from overstory.building.report import Problem, StageReport, Tally
from overstory.inspection import HeldSummary
from overstory.planning import Plan
from overstory.ports import Embedder
from overstory.settings import Dataset, parse
from quality.invariants import violations

if TYPE_CHECKING:
    from overstory.ports import Vectors

DATASET = "docs"


@dataclass(slots=True)
class CountingEmbedder:
    """Passes on to another embedder, and counts the texts."""

    inner: Embedder
    name: str = field(init=False)
    paid: bool = field(init=False)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name, self.paid = self.inner.name, self.inner.paid

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    @property
    def embedding_hash(self) -> str:
        return self.inner.embedding_hash

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return self.inner.embed(texts)


@dataclass(frozen=True, slots=True)
class Built:
    """What a build did."""

    reports: tuple[StageReport, ...]

    @property
    def total(self) -> Tally:
        total = Tally()
        for report in self.reports:
            total += report.total
        return total

    @property
    def problems(self) -> list[Problem]:
        return [problem for report in self.reports for problem in report.problems]

    @property
    def reasons(self) -> list[str]:
        return [problem.reason for problem in self.problems]

    @property
    def notes(self) -> list[str]:
        return [note for report in self.reports for note in report.notes]

    def stage(self, name: str) -> Tally:
        (report,) = [report for report in self.reports if report.stage == name]
        return report.total


@dataclass(slots=True)
class Workbench:
    """A folder of documents, its settings and its record."""

    folder: Path
    database_url: str
    settings: dict[str, Any] = field(default_factory=dict)
    embedder: CountingEmbedder | None = None
    """In place of the one in the settings."""
    record: PostgresRecord = field(init=False)
    runs: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.record = PostgresRecord.open(sqlalchemy_url(self.database_url, "psycopg"))

    # The source.

    def write(self, path: str, text: str | bytes) -> None:
        """Write a document."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)

    def fill(self, documents: Mapping[str, str | bytes]) -> None:
        """Write documents."""
        for path, text in documents.items():
            self.write(path, text)

    def remove(self, *paths: str) -> None:
        """Delete documents."""
        for path in paths:
            (self.folder / path).unlink()

    def clear(self) -> None:
        """Delete all documents, not the folder."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    # The use cases.

    @property
    def dataset(self) -> Dataset:
        """The settings as a build reads them."""
        table = {"source": str(self.folder), **self.settings}
        return parse({"datasets": {DATASET: table}}, folder=None).datasets[0]

    def context(self, **changes: Any) -> BuildContext:
        """What a new build is given."""
        self.runs += 1
        ctx = api.open_dataset(self.dataset, self.record, run_id=f"run {self.runs}", workers=1)
        if self.embedder is None:
            self.embedder = CountingEmbedder(ctx.embedder)
        return replace(ctx, embedder=self.embedder, **changes)

    def build(self, shards: Iterable[int] | None = None, **changes: Any) -> Built:
        """Run all stages in order."""
        ctx = self.context(**changes)
        some = None if shards is None else set(shards)
        return Built(
            (
                sync_documents(ctx, some),
                cut_leaves(ctx, some),
                summarize_documents(ctx, some),
                update_memberships(ctx),
                summarize_clusters(ctx),
            )
        )

    def plan(self, **changes: Any) -> Plan:
        """What a build would do."""
        return plan(self.context(**changes))

    def health(self) -> Health:
        """The state of every node."""
        return examine(self.context())

    # The stores.

    def sql(self, statement: str, **parameters: object) -> Sequence[Any]:
        """All rows of a query."""
        return self.record.db.rows(statement, **parameters)

    def run_sql(self, statement: str, **parameters: object) -> int:
        """The number of rows that a statement touched."""
        return self.record.db.run(statement, **parameters)

    def value(self, statement: str, **parameters: object) -> Any:
        """The only value of a query."""
        ((value,),) = self.sql(statement, **parameters)
        return value

    @property
    def inspection(self) -> PostgresInspection:
        """Everything that the stores hold."""
        return PostgresInspection(self.record.db)

    def summaries(self, kind: str) -> list[HeldSummary]:
        """Stored summaries of a kind, failed ones too."""
        return [summary for summary in self.inspection.summaries(DATASET) if summary.kind == kind]

    def summary(self, path: str) -> HeldSummary:
        """The summary of the document at ``path``."""
        document = self.id_of(path)
        (found,) = [s for s in self.summaries("document_summary") if s.document_id == document]
        return found

    def id_of(self, path: str) -> str:
        """The id of the document at ``path``."""
        return str(self.value("select id::text from document where path = :path", path=path))

    def paths(self) -> list[str]:
        """Paths of all documents in the record."""
        return [row.path for row in self.record.documents.rows(DATASET)]

    def memberships(self) -> dict[str, list[tuple[str, float]]]:
        """Members and weights, by cluster."""
        found: dict[str, list[tuple[str, float]]] = {}
        for cluster, member, weight in self.sql(
            "select cluster_id::text, member_id::text, weight from membership order by 1, 2"
        ):
            found.setdefault(cluster, []).append((member, weight))
        return found

    def texts(self) -> str:
        """Every text that any table holds."""
        return "\n".join(text for rows in self.dump().values() for text in rows)

    def dump(self) -> dict[str, list[str]]:
        """Every row of every table with the transaction that wrote it: equal dumps mean that nothing was written."""
        tables = self.sql(
            "select table_name from information_schema.tables where table_schema = 'overstory' order by 1"
        )
        return {
            name: [row for (row,) in self.sql(f"select t.xmin || ' ' || t::text from {name} t order by 1")]
            for (name,) in tables
        }

    # What every scenario ends with.

    def violations(self) -> list[str]:
        """Violations of I1, I2, I3, I4 and I6."""
        return [str(violation) for violation in violations(self.context(), self.inspection)]

    def check(self) -> None:
        """I1, I2, I3, I4 and I6 hold; so does I5 where nothing has failed."""
        assert self.violations() == []
        if not any(level.failed for level in self.health().levels):
            self.check_rebuild()

    def check_rebuild(self) -> None:
        """I5: building again calls no model, embeds nothing and writes nothing."""
        before = self.dump()
        assert self.embedder is not None
        self.embedder.texts.clear()
        total = self.build().total
        assert (total.calls, total.embedded, total.written, total.deleted) == (0, 0, 0, 0)
        assert self.embedder.texts == []
        assert self.dump() == before
