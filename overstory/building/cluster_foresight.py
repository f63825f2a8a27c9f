"""Memberships as a build would find them: its own code, over the vectors that are known before the first call."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from overstory.building.context import BuildContext
from overstory.building.memberships import FIRST_LEVEL, _levels
from overstory.building.parameters import cluster_parameters
from overstory.clustering import ClusterModel, Member
from overstory.clustering.update import REFIT_CLUSTERS
from overstory.identity import DocumentId, content_hash
from overstory.planning import Unplaced
from overstory.ports import Embedder
from overstory.record import DocumentRow, Record, StoredModel

if TYPE_CHECKING:
    from overstory.record import Clusters


@dataclass(frozen=True, slots=True)
class Written:
    """A summary that a build would write, before it does."""

    tokens: int
    """Its length, or the one that will be asked for."""
    facts: int
    """Distinct facts that it states, or has room for."""
    text: str | None = None
    """None while it is not known."""


@dataclass(slots=True)
class Changes:
    """What the documents' part of a plan leaves to the clusters."""

    rewritten: dict[DocumentId, Written] = field(default_factory=dict)
    """Documents whose own summary would be written."""
    gone: frozenset[DocumentId] = frozenset()
    lost: bool = False
    """Whether a document's summary has lost its vector."""


@dataclass(frozen=True, slots=True)
class Foresight:
    """The clusters after a build, as far as known."""

    models: tuple[ClusterModel, ...]
    """By level, lowest first. Documents to be added are not placed yet, edited ones stand where they did."""
    members: int
    """Documents in clusters after the build."""
    hashes: Mapping[str, str]
    """Text hash by document: as it stands, or as it will be where that is known."""
    unplaced: Unplaced
    settled: bool
    """False where all clusters are to be made anew, and from texts that are not written yet."""
    anew: bool
    """Whether all clusters of documents are made anew."""
    renewed: bool
    """Whether their settings changed."""


def foresee(ctx: BuildContext, changes: Changes) -> Foresight:
    """The clusters that a build would make, without a write."""
    stored = ctx.record.clusters.model(ctx.name, FIRST_LEVEL)
    model = ClusterModel.from_bytes(stored.state) if stored else None
    held, known = _members(ctx, changes)
    placed = set(known) | (model.memberships.keys() if model else set())
    additions = [d for d in changes.rewritten if d not in placed]
    total = len(placed - changes.gone) + len(additions)
    parameters = cluster_parameters(ctx.dataset.clusters)
    renewed = model is not None and model.parameters != parameters
    anew = model is None or renewed or _refitted(model, total, len(additions))
    settled = not anew or not (additions or any(member.id in changes.rewritten for member in held) or changes.lost)
    return Foresight(
        models=tuple(_models(ctx, stored, held, changes.gone)) if settled else (),
        members=total,
        hashes=known,
        unplaced=Unplaced(_unplaced_edits(changes, model, placed), len(additions)),
        settled=settled,
        anew=anew,
        renewed=renewed,
    )


def _members(ctx: BuildContext, changes: Changes) -> tuple[list[Member], dict[str, str]]:
    """Documents that have a vector, where it stands now, and the text hashes of all that have a summary."""
    serving = ctx.record.vectors.serving(ctx.name)
    if serving is None:
        return [], {}
    ids, hashes, vectors = ctx.record.vectors.document_summaries(ctx.name, serving)
    known: dict[str, str] = {}
    members = []
    for document, text_hash, vector in zip(ids, hashes, vectors, strict=True):
        if document in changes.gone:
            continue
        written = changes.rewritten.get(document)
        text = written.text if written else None
        known[document] = text_hash if text is None else content_hash(text)
        members.append(Member(document, vector, known[document]))
    return members, known


def _refitted(model: ClusterModel, members: int, additions: int) -> bool:
    """Whether the clusters depend on additions altogether.

    An update fits all anew at a border between none, one and several clusters, and an overfull level while it is
    small; on the other side of such a border than the members that are known, nothing can be told from them.
    """
    parameters = model.parameters
    now, then, known = (
        min(2, parameters.clusters_for(number)) for number in (members, model.fitted, members - additions)
    )
    if now != then or now != known:
        return True
    if not additions or not 1 < len(model.ids) <= REFIT_CLUSTERS:
        return False
    return members * parameters.mean_for(members) > parameters.max_size * len(model.ids)


def _unplaced_edits(changes: Changes, model: ClusterModel | None, placed: Collection[str]) -> int:
    """Edited members whose next clusters are not known: all but those that come back to a former text."""
    if model is None:
        return 0
    count = 0
    for document, written in changes.rewritten.items():
        text = None if written.text is None else content_hash(written.text)
        remembered = text is not None and ((document, text) in model.memo or model.hashes.get(document) == text)
        count += document in placed and not remembered
    return count


def _models(
    ctx: BuildContext, stored: StoredModel | None, members: list[Member], gone: frozenset[DocumentId]
) -> list[ClusterModel]:
    """What the build's own code makes of these members."""
    serving = ctx.record.vectors.serving(ctx.name)
    if serving is None or (stored is None and not members):
        return []
    view = cast(Record, _Reading(_Remaining(ctx, gone), ctx.record.clusters))
    return _levels(replace(ctx, record=view, embedder=cast(Embedder, _Space(serving))), stored, members)


@dataclass(frozen=True, slots=True)
class _Space:
    """Stands for the embedder whose vectors are there."""

    embedding_hash: str


@dataclass(frozen=True, slots=True)
class _Remaining:
    """Documents without those that are gone."""

    ctx: BuildContext
    gone: frozenset[DocumentId]

    def rows(self, dataset: str) -> list[DocumentRow]:
        return [row for row in self.ctx.record.documents.rows(dataset) if row.id not in self.gone]


@dataclass(frozen=True, slots=True)
class _Reading:
    """As much of a record as memberships read."""

    documents: _Remaining
    clusters: Clusters
