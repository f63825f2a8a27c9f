"""Collapsed search: one query over all levels, by meaning and by words, served by a level quota."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from overstory.errors import SettingsError, StoreUnavailable
from overstory.ports import Embedder
from overstory.retrieval.finder import Finder, Wanted
from overstory.retrieval.hits import SearchResult, Trace, compose
from overstory.retrieval.ports import Candidates, SearchStore
from overstory.retrieval.query import Query, prepare_query
from overstory.retrieval.quota import Quota
from overstory.retrieval.serving import EmbedderOf
from overstory.tree import Recipes

LEAST_CANDIDATES = 50
"""Of each ranking and level; 100 change nDCG@10 by less than 0.01 (docs/decisions/0008-search.md)."""

CANDIDATES_A_SLOT = 5
"""For quotas above ten slots."""


def no_clock() -> float:
    """A clock that stands still."""
    return 0.0


@dataclass(frozen=True, slots=True)
class SearchContext:
    """A dataset and what is needed to search it."""

    dataset: str
    store: SearchStore
    embedder_of: EmbedderOf
    recipes: Recipes
    """By which summaries ought to be made, to tell the stale ones."""
    chunk_recipe: str
    """By which leaves ought to be cut."""
    language: str
    """Text search configuration."""
    semantic_weight: float
    """Of the ranking by meaning, where the one by words counts 1."""
    clock: Callable[[], float] = no_clock
    """Seconds, monotonic."""


@dataclass(slots=True)
class _Timer:
    clock: Callable[[], float]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        started = self.clock()
        yield
        self.seconds[name] = self.clock() - started


def search(ctx: SearchContext, text: str, quota: Quota) -> SearchResult:
    """The nodes of all levels that answer a query best, leaves and summaries in the numbers of ``quota``.

    Raises:
        SettingsError: The query is empty, or the dataset has no index by this embedder.
        StoreUnavailable: The database does not answer.
    """
    query = prepare_query(text)
    # Vectors that are replaced while the query is embedded are gone by the time they are to be read.
    found = _search(ctx, query, quota) or _search(ctx, query, quota)
    if found is None:
        raise StoreUnavailable(
            f"The index of dataset '{ctx.dataset}' was replaced twice during one search", hint="Search again"
        )
    return found


def _search(ctx: SearchContext, query: Query, quota: Quota) -> SearchResult | None:
    """What a query finds by the vectors that serve when it begins; None where they are gone when it reads them."""
    timer = _Timer(ctx.clock)
    with timer.step("embed"):
        embedder = _serving(ctx)
        embedding, vector = embedder.embedding_hash, embedder.embed([query.text])[0]
    depth = max(LEAST_CANDIDATES, CANDIDATES_A_SLOT * (quota.leaves + quota.summaries))
    with ctx.store.snapshot() as store:
        if not store.hold(ctx.dataset, embedding) or store.embeddings(ctx.dataset)[0] not in (None, embedding):
            return None
        with timer.step("semantic"):
            # A query without a known word has no direction: every node would be equally near.
            near = store.semantic(ctx.dataset, embedding, vector, depth) if vector.any() else Candidates()
        with timer.step("text"):
            worded = store.full_text(ctx.dataset, query.text, ctx.language, depth)
        with timer.step("resolve"):
            wanted = Wanted(ctx.dataset, embedding, vector, ctx.semantic_weight, ctx.recipes, ctx.chunk_recipe)
            hits, brought = Finder(store, wanted, quota).find(near, worded)
    trace = Trace(
        embedding_hash=embedding,
        shortened=query.shortened,
        candidates=_counts(near, worded),
        passed_through=len({c.node_id for c in (*near.summaries, *worded.summaries) if c.passed_through}),
        brought=brought,
        seconds=timer.seconds,
    )
    return SearchResult(query.text, hits, compose(hits), trace)


def _serving(ctx: SearchContext) -> Embedder:
    """The embedder of the vectors that serve now."""
    serving, stored = ctx.store.embeddings(ctx.dataset)
    if not stored:
        raise SettingsError(
            f"Dataset '{ctx.dataset}' has no index yet", hint="Build it: overstory build", dataset=ctx.dataset
        )
    embedder = ctx.embedder_of(serving)
    # Before the first build has ended nothing is serving: what is there already can be searched.
    if serving is None and embedder.embedding_hash not in stored:
        raise SettingsError(
            f"The first build of dataset '{ctx.dataset}' has not ended, and was begun with another embedder",
            hint="Build to the end: overstory build. Or set embedding.name back",
            dataset=ctx.dataset,
        )
    return embedder


def _counts(near: Candidates, worded: Candidates) -> dict[str, int]:
    return {
        "semantic leaves": len(near.leaves),
        "semantic summaries": len(near.summaries),
        "text leaves": len(worded.leaves),
        "text summaries": len(worded.summaries),
    }
