"""The cluster levels' part of a plan: exact where memberships are known, else bounds and an expectation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from overstory.building.cluster_foresight import Changes, Foresight, Written, foresee
from overstory.building.cluster_pricing import Foreseen, Priced, Pricing
from overstory.building.context import BuildContext
from overstory.building.memberships import FIRST_LEVEL
from overstory.building.parameters import cluster_parameters
from overstory.building.summaries import recipes_of
from overstory.clustering import ClusterModel, above
from overstory.freshness import Cause, judge
from overstory.identity import ClusterId, content_hash, shard_of, summary_id
from overstory.nodes import NodeKind, NodeState
from overstory.planning import (
    Bounds,
    Estimate,
    LevelEstimate,
    Price,
    Unplaced,
    fitted,
    fitted_above,
    reached,
    reached_by,
    summed,
    total,
)
from overstory.record import ClusterTree, Member
from overstory.tree import cluster_target

RENEWED = "Clusters are made anew: their settings have changed"


@dataclass(frozen=True, slots=True)
class Below:
    """What a level of clusters stands on."""

    members: Mapping[str, Member]
    """Members that have a summary, as it stands or is known to become."""
    written: Mapping[str, Written]
    """Members whose summary would be written."""
    kind: NodeKind
    more: Bounds = (0, 0, 0)
    """Further members whose summary may be written."""
    unplaced: Unplaced = field(default_factory=Unplaced)
    doubtful: frozenset[str] = frozenset()
    """Members whose summary may come out as it stands, though it is foreseen otherwise."""


@dataclass(slots=True)
class Outcome:
    """What a plan of all levels adds up to."""

    parts: list[LevelEstimate] = field(default_factory=list)
    tokens: int = 0
    reshaped: int = 0
    removed: int = 0
    seen: set[ClusterId] = field(default_factory=set)


def plan_clusters(ctx: BuildContext, changes: Changes, asked: set[tuple[str, str]]) -> tuple[Estimate, list[str]]:
    """Least, expected and most of all cluster summaries after these changes, and what a person should know.

    Args:
        ctx: Of the plan.
        changes: Of the documents.
        asked: Answers that would be paid for already.
    """
    foresight = foresee(ctx, changes)
    stored = {level: ctx.record.clusters.trees(ctx.name, level) for level in ctx.record.clusters.levels(ctx.name)}
    trees = {tree.cluster_id: tree for level in stored.values() for tree in level}
    outcome = Outcome()
    pricing = Pricing(ctx, asked)
    if foresight.settled:
        _settled(ctx, foresight, changes, trees, pricing, outcome)
    else:
        _unsettled(ctx, foresight, changes, [tree for tree in trees.values() if tree.members], pricing, outcome)
    estimate = summed(
        outcome.parts, embedding_tokens=outcome.tokens, reshaped=outcome.reshaped, removed=outcome.removed
    )
    return estimate, [RENEWED] if foresight.renewed else []


def _settled(
    ctx: BuildContext,
    foresight: Foresight,
    changes: Changes,
    trees: Mapping[ClusterId, ClusterTree],
    pricing: Pricing,
    outcome: Outcome,
) -> None:
    """Level by level over the clusters that the build would find."""
    below = _documents(foresight, changes, trees.values())
    for model in foresight.models:
        below = _level(ctx, model, below, trees, pricing, outcome)
    outcome.removed = len(trees.keys() - outcome.seen)


def _documents(foresight: Foresight, changes: Changes, trees: Collection[ClusterTree]) -> Below:
    """The documents under the first level."""
    kind = NodeKind.DOCUMENT_SUMMARY
    members = {m.member_id: m for t in trees if t.level == FIRST_LEVEL for m in t.members if m.summary_id}
    for document, text_hash in foresight.hashes.items():
        members[document] = Member(document, summary_id(kind, document), text_hash)
    for document, written in changes.rewritten.items():
        if written.text is not None:
            members[document] = Member(document, summary_id(kind, document), content_hash(written.text))
    return Below(members, {str(d): w for d, w in changes.rewritten.items()}, kind, unplaced=foresight.unplaced)


@dataclass(frozen=True, slots=True)
class Item:
    """A cluster summary that would be written, as far as its members are known."""

    cluster: ClusterId
    foreseen: Foreseen
    cause: Cause
    certain: bool
    """Whatever its members will say."""


def _level(
    ctx: BuildContext,
    model: ClusterModel,
    below: Below,
    trees: Mapping[ClusterId, ClusterTree],
    pricing: Pricing,
    outcome: Outcome,
) -> Below:
    """Estimate one level; returns what the next one stands on."""
    items: list[Item] = []
    members: dict[str, Member] = {}
    for cluster in model.ids:
        former = trees.get(cluster)
        tree = _foreseen_tree(cluster, model, below, former)
        held = frozenset(m.member_id for m in former.members) if former else None
        outcome.seen.add(cluster)
        changed = held != model.rosters[cluster]
        bereft = held is not None and not held <= model.rosters[cluster]
        outcome.reshaped += changed
        if tree.stored and not tree.stored.failure:
            members[cluster] = Member(cluster, tree.stored.id, tree.stored.text_hash)
        item = _item(ctx, tree, model.rosters[cluster], below, changed=changed, bereft=bereft)
        if item is not None:
            items.append(item)
    prices = pricing.of([item.foreseen for item in items])
    extra = _extra(below, len(model.ids), len(model.ids) - len(items))
    outcome.parts += _parts(model.level, items, [one.price for one in prices])
    width = sum(map(len, model.rosters.values())) / len(model.ids)
    typical = _typical(pricing, prices, below, width)
    outcome.parts.append(_uncertain(model.level, extra, typical.price, Cause.CHILDREN))
    outcome.tokens += sum(one.written.tokens for one in prices) + extra[1] * typical.written.tokens
    written = {str(item.cluster): price.written for item, price in zip(items, prices, strict=True)}
    for name, one in written.items():
        if one.text is not None:
            node = summary_id(NodeKind.CLUSTER_SUMMARY, name)
            members[name] = Member(name, node, content_hash(one.text))
    doubtful = frozenset(str(item.cluster) for item in items if not item.certain)
    return Below(members, written, NodeKind.CLUSTER_SUMMARY, extra, doubtful=doubtful)


def _foreseen_tree(cluster: ClusterId, model: ClusterModel, below: Below, former: ClusterTree | None) -> ClusterTree:
    roster = sorted(model.rosters[cluster])
    members = tuple(below.members.get(member) or Member(member, None, None) for member in roster)
    return ClusterTree(cluster, model.level, shard_of(cluster), members, former.stored if former else None)


def _item(
    ctx: BuildContext, tree: ClusterTree, roster: Collection[str], below: Below, *, changed: bool, bereft: bool
) -> Item | None:
    """The summary of a cluster if it would be written, or may be."""
    open_members = {m: below.written[m] for m in roster if m in below.written and below.written[m].text is None}
    target = cluster_target(tree, recipes_of(ctx))
    verdict = judge(tree.stored, target.desired)
    stale = verdict.state is not NodeState.FRESH and target.desired.child_hash is not None
    if not stale and not open_members:
        return None
    cause = verdict.cause or Cause.CHILDREN
    if open_members:
        cause = Cause.CHILDREN if tree.stored else Cause.NEW
    known = {m.summary_id: below.written.get(m.member_id) for m in tree.members if m.member_id not in open_members}
    children = {node: written.text if written else None for node, written in known.items() if node is not None}
    foreseen = Foreseen(target, children, tuple(open_members.values()))
    # A member without a text counts as absent now, and may come out as it was in the summary that stands.
    absent = any(member not in below.members for member in open_members)
    certain = not tree.stored or changed if absent else stale
    # A new document may say word for word what one that went said, and take its place.
    replaced = bereft and below.unplaced.additions > 0
    doubtful = tree.stored is not None and (replaced or not below.doubtful.isdisjoint(roster))
    return Item(tree.cluster_id, foreseen, cause, certain and not doubtful)


def _extra(below: Below, clusters: int, untouched: int) -> Bounds:
    """Clusters that may be written besides those whose members are known to change."""
    if below.kind is NodeKind.DOCUMENT_SUMMARY:
        return reached_by(below.unplaced, clusters, untouched)
    if not clusters:
        return 0, 0, 0
    expected = round(untouched * reached(clusters, below.more[1], 1.0) / clusters)
    return 0, expected, min(untouched, below.more[2])


def _parts(level: int, items: Sequence[Item], prices: Sequence[Price]) -> list[LevelEstimate]:
    """By cause: certain ones are the least, all of them what is expected."""
    found = []
    for cause in sorted({item.cause for item in items}):
        ours = [(item, price) for item, price in zip(items, prices, strict=True) if item.cause is cause]
        certain = [price for item, price in ours if item.certain]
        every = total(price for _, price in ours)
        found.append(LevelEstimate(level, cause, (len(certain), len(ours), len(ours)), total(certain), every, every))
    return found


def _uncertain(level: int, summaries: Bounds, typical: Price, cause: Cause) -> LevelEstimate:
    least, expected, most = (typical.times(number) for number in summaries)
    return LevelEstimate(level, cause, summaries, least, expected, most)


def _typical(pricing: Pricing, others: Sequence[Priced], below: Below, width: float) -> Priced:
    """A cluster whose members are not known: like the others of its level, else of average width."""
    paid = [one for one in others if one.price.calls]
    if not paid:
        return pricing.typical(width, below.kind, list(below.written.values()))
    tokens = sum(one.written.tokens for one in paid) // len(paid)
    return Priced(total(one.price for one in paid).times(1 / len(paid)), Written(tokens, 0))


def _unsettled(
    ctx: BuildContext,
    foresight: Foresight,
    changes: Changes,
    trees: Sequence[ClusterTree],
    pricing: Pricing,
    outcome: Outcome,
) -> None:
    """All levels are fitted anew to summaries that are not written yet: only their numbers can be foreseen."""
    parameters = cluster_parameters(ctx.dataset.clusters)
    outcome.removed = sum(tree.level > ctx.dataset.clusters.max_level for tree in trees)
    members = foresight.members
    bounds = fitted(parameters.clusters_for(members))
    kind, written = NodeKind.DOCUMENT_SUMMARY, list(changes.rewritten.values())
    width = members * parameters.mean_for(members) / bounds[1] if bounds[1] else 0.0
    for level in range(FIRST_LEVEL, ctx.dataset.clusters.max_level + 1):
        if not bounds[2]:
            return
        # Where clusters stand already, some may come out with the members and the summary that they have.
        standing = sum(tree.level == level for tree in trees) if foresight.renewed else 0
        summaries = (max(0, bounds[0] - standing), bounds[1], bounds[2])
        typical = pricing.typical(width, kind, written)
        outcome.parts.append(_uncertain(level, summaries, typical.price, Cause.NEW))
        outcome.tokens += summaries[1] * typical.written.tokens
        outcome.reshaped += bounds[1]
        upper = fitted_above(bounds, above(parameters).clusters_for)
        width = bounds[1] / upper[1] if upper[1] else 0.0
        kind, written, bounds = NodeKind.CLUSTER_SUMMARY, [], upper
