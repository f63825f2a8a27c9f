from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from overstory.adapters.database_url import sqlalchemy_url
from overstory.adapters.postgres.record import PostgresRecord
from overstory.adapters.postgres.search import PostgresSearch
from overstory.errors import SettingsError, StoreUnavailable
from overstory.freshness import Cause
from overstory.identity import recipe_hash
from overstory.nodes import NodeKind, NodeState
from overstory.record import VectorRow
from overstory.retrieval.collapsed import search
from overstory.retrieval.hits import MatchedVia
from overstory.retrieval.quota import Quota
from overstory.retrieval.serving import ServingEmbedders
from tests.conftest import DatabaseMaker
from tests.contract.postgres_corpus import Corpus, WordEmbedder, summary_row

SUBJECTS = ("webhooks", "pricing", "alerts", "exports", "tokens", "roles", "audits", "regions", "quotas", "backups")


@pytest.fixture(scope="session")
def handbook_database(make_database: DatabaseMaker, migrated_database: str) -> str:
    """The URL of a database with ten documents of three leaves, each with a summary, in one cluster."""
    url = make_database(migrated_database)
    record = PostgresRecord.open(sqlalchemy_url(url, "psycopg"))
    corpus = Corpus(record)
    for subject in SUBJECTS:
        facts = [f"The limit of {subject} is {SUBJECTS.index(subject) + 40} a day. "]
        corpus.add(f"{subject}.md", [f"About {subject} in general. ", *facts, f"History of {subject} since March."])
        corpus.summarize(f"{subject}.md", f"Overview: {subject} have a daily limit and a history.")
    corpus.cluster([f"{subject}.md" for subject in SUBJECTS], "Overview of all daily limits and their history.")
    record.close()
    return url


@pytest.fixture
def handbook(make_database: DatabaseMaker, handbook_database: str) -> Iterator[Corpus]:
    """A copy of that database."""
    record = PostgresRecord.open(sqlalchemy_url(make_database(handbook_database), "psycopg"))
    yield Corpus(record)
    record.close()


def test_case_39_an_overview_query_is_served_one_or_two_summaries_among_eight(handbook: Corpus) -> None:
    result = handbook.search("overview of all daily limits")

    assert len(result.hits) == 8
    assert 1 <= result.composition.summaries <= 2


def test_case_39_a_fact_query_is_served_six_leaves_and_the_one_with_the_fact(handbook: Corpus) -> None:
    result = handbook.search("What is the limit of exports a day?")

    assert result.composition.leaves >= 6
    assert any("exports is 43 a day" in hit.text for hit in result.hits if hit.kind is NodeKind.LEAF)


def test_case_39_a_corpus_of_three_leaves_is_not_padded(corpus: Corpus) -> None:
    corpus.add("a.md", ["One limit. ", "Two limits. ", "Three limits."])
    corpus.summarize("a.md", "Limits: three of them.")

    result = corpus.search("limits")

    assert (result.composition.leaves, result.composition.summaries) == (3, 1)


def test_case_39_the_composition_by_level_is_told(handbook: Corpus) -> None:
    result = handbook.search("overview of all daily limits")

    assert sum(result.composition.levels.values()) == len(result.hits)
    assert result.composition.levels[0] == result.composition.leaves


def test_an_empty_dataset_serves_nothing(corpus: Corpus) -> None:
    assert corpus.search("anything").hits == ()


def test_a_dataset_that_was_never_built_is_refused(corpus: Corpus) -> None:
    corpus.name = "unknown"

    with pytest.raises(SettingsError, match="no index yet"):
        corpus.search("anything")


def test_an_index_of_another_embedder_is_refused_not_searched_by_words_alone(handbook: Corpus) -> None:
    other = WordEmbedder()
    other.embedding_hash = "other"
    embedders = ServingEmbedders(
        handbook.name,
        named=lambda: other,
        reopen=lambda known: other,
        default=lambda: other,
        known=handbook.record.embedders,
    )

    with pytest.raises(SettingsError, match="another embedder than words"):
        search(replace(handbook.context(), embedder_of=embedders), "limits", Quota(6, 2))


def test_an_index_that_is_always_gone_when_it_is_read_is_told(handbook: Corpus) -> None:
    handbook.embedder.embedding_hash = "dropped"

    with pytest.raises(StoreUnavailable, match="replaced twice"):
        handbook.search("limits")


def test_vectors_that_are_held_outlive_their_drop(handbook: Corpus) -> None:
    store, embedding = PostgresSearch(handbook.record.db), handbook.embedder.embedding_hash
    handbook.record.vectors.prepare(handbook.name, "new", 3)
    with ThreadPoolExecutor(1) as pool, store.snapshot() as held:
        assert held.hold(handbook.name, embedding)
        switch = pool.submit(handbook.record.vectors.finish_load, handbook.name, "new")
        _wait_until_blocked(handbook)
        vector = handbook.embedder.embed(["limits"])[0]
        found = held.semantic(handbook.name, embedding, vector, 5)
        serving = store.embeddings(handbook.name)[0]

    switch.result()
    assert (len(found.leaves), serving) == (5, "new")
    with store.snapshot() as later:
        assert not later.hold(handbook.name, embedding)
        assert later.embeddings(handbook.name) == ("new", frozenset({"new"}))


def _wait_until_blocked(corpus: Corpus) -> None:
    """Return when a statement waits for a lock."""
    waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    while not corpus.record.db.rows(waiting):
        pass


def test_an_unknown_language_is_named(handbook: Corpus) -> None:
    with pytest.raises(SettingsError, match="klingon"):
        search(handbook.context(language="klingon"), "limits", Quota(6, 2))


@pytest.mark.parametrize(
    "query",
    [
        "it's",
        "a & b | !c <-> d:*",
        "'; drop table leaf; --",
        "\\ \\' \" %s %(x)s :name {0} $1",
        "limits\0of\0exports",
        "\ud800 half a pair",
        "the of and",
        "?!…",
        "ﬀ 限制 лимит حد 🚦",
        "https://example.org/a?b=1&c='x'",
        "limit " * 200_000,
        " ".join(f"word{n}" for n in range(5_000)),
        "x" * 1_000_000,
    ],
    ids=range(13),
)
def test_no_text_makes_a_query_fail(handbook: Corpus, query: str) -> None:
    assert len(handbook.search(query).hits) <= 8


def test_i2_nothing_of_a_version_that_is_not_current_is_served(handbook: Corpus) -> None:
    handbook.add("exports.md", ["About exports in general. ", "The limit of exports is 99 a day."])

    texts = [hit.text for hit in handbook.search("What is the limit of exports a day?", 30, 10).hits]

    assert "The limit of exports is 99 a day." in texts
    assert not [text for text in texts if "exports is 43" in text or "History of exports" in text]


def test_i2_a_version_that_waits_to_be_cut_is_not_served_and_its_document_is_stale(handbook: Corpus) -> None:
    handbook.scan("exports.md", ["The limit of exports is 99 a day."])

    hits = handbook.search("What is the limit of exports a day?", 30, 10).hits

    assert not [hit for hit in hits if "99" in hit.text]
    states = {(hit.path, hit.state, hit.reason) for hit in hits if hit.path}
    assert ("exports.md", NodeState.STALE, str(Cause.EDITED)) in states
    assert ("roles.md", NodeState.FRESH, "") in states
    assert ("exports.md", NodeState.FRESH, "") not in states


def test_vectors_of_nodes_that_are_gone_take_no_slots(handbook: Corpus) -> None:
    lost = [handbook.id_of(f"lost {n}") for n in range(300)]
    places = [VectorRow(node, NodeKind.LEAF, 0, None) for node in lost]  # type: ignore[arg-type]  # any unknown id
    query = "What is the limit of exports a day?"
    vectors = handbook.embedder.embed([query] * len(lost))
    handbook.record.vectors.upsert(handbook.name, handbook.embedder.embedding_hash, places, vectors)

    store = PostgresSearch(handbook.record.db)
    found = store.semantic(handbook.name, handbook.embedder.embedding_hash, vectors[0], 10)

    assert len(found.leaves) == 10


def test_case_33_the_words_of_a_chunk_summary_find_its_leaf_and_every_slot_is_filled(handbook: Corpus) -> None:
    target = handbook.target("roles.md", NodeKind.CHUNK_SUMMARY, 1)
    handbook.save([summary_row(target, "zebra giraffe okapi")])

    result = handbook.search("zebra giraffe okapi")

    assert result.hits[0].text.startswith("The limit of roles")
    assert result.hits[0].matched_via is MatchedVia.SUMMARY
    assert len(result.hits) == 8


def test_case_35_a_leaf_found_directly_and_via_its_summary_is_served_once(handbook: Corpus) -> None:
    target = handbook.target("roles.md", NodeKind.CHUNK_SUMMARY, 1)
    handbook.save([summary_row(target, "The limit of roles is daily.")])

    hits = handbook.search("The limit of roles is 45 a day").hits

    assert len({hit.node_id for hit in hits}) == len(hits) == 8
    assert all(hit.kind is not NodeKind.CHUNK_SUMMARY for hit in hits)


def test_case_35_a_document_of_one_leaf_is_served_once(corpus: Corpus) -> None:
    corpus.add("one.md", ["The only passage about zebras."])
    corpus.summarize("one.md", "The only passage about zebras.")

    assert [hit.kind for hit in corpus.search("zebras").hits] == [NodeKind.LEAF]


def test_a_summary_brings_its_best_leaf(handbook: Corpus) -> None:
    result = handbook.search("Overview: roles have a daily limit and a history.", leaves=4, summaries=1)

    (summary,) = [hit for hit in result.hits if hit.level > 0]
    assert summary.path == "roles.md"
    assert {hit.path for hit in result.hits if hit.node_id in result.trace.brought} == {"roles.md"}


def test_a_section_and_its_document_do_not_take_two_slots(corpus: Corpus) -> None:
    corpus.add("long.md", [f"Passage {n} about zebras. " for n in range(6)], sections=[(0, 2), (3, 5)])
    corpus.summarize("long.md", "Zebras, first half.", NodeKind.SECTION_SUMMARY, 0)
    corpus.summarize("long.md", "Zebras, second half.", NodeKind.SECTION_SUMMARY, 1)
    corpus.summarize("long.md", "Zebras, all of it.")

    assert corpus.search("zebras").composition.summaries == 1


def test_case_32_a_summary_hit_names_its_children_in_order(handbook: Corpus) -> None:
    hits = handbook.search("Overview: roles have a daily limit and a history.").hits
    found = next(hit for hit in hits if hit.kind is NodeKind.DOCUMENT_SUMMARY and hit.path == "roles.md")

    leaves = PostgresSearch(handbook.record.db).leaves_of(handbook.name, [handbook.id_of("roles.md")])
    assert found.children == leaves[handbook.id_of("roles.md")]


def test_a_leaf_hit_tells_its_place_in_the_source(handbook: Corpus) -> None:
    hits = handbook.search("What is the limit of exports a day?").hits
    hit = next(hit for hit in hits if "exports is 43" in hit.text)

    source = "About exports in general. The limit of exports is 43 a day. History of exports since March."
    assert (hit.path, hit.title, hit.headings) == ("exports.md", "EXPORTS.MD", ("Heading",))
    assert source[hit.start : hit.end] == hit.text


def test_a_summary_of_another_recipe_is_stale_and_says_why(handbook: Corpus) -> None:
    old = recipe_hash("model", "an older prompt", "parameters")
    handbook.summarize("roles.md", "Overview: roles have a daily limit.", recipe=old)

    hits = handbook.search("Overview: roles have a daily limit.").hits

    states = {hit.path: (hit.state, hit.reason) for hit in hits if hit.kind is NodeKind.DOCUMENT_SUMMARY}
    assert states["roles.md"] == (NodeState.STALE, str(Cause.NEW_PROMPT))


def test_a_cluster_whose_member_was_rewritten_is_stale(handbook: Corpus) -> None:
    handbook.summarize("roles.md", "Overview: roles are no more.")

    hits = handbook.search("Overview of all daily limits and their history.").hits

    assert [hit.reason for hit in hits if hit.cluster_id] == [str(Cause.CHILDREN)]


def test_a_failed_summary_is_not_served(corpus: Corpus) -> None:
    corpus.add("a.md", ["One limit. ", "Two limits."])
    corpus.save([summary_row(corpus.target("a.md"), "", failure="refusal")])

    assert corpus.search("limits").composition.summaries == 0


def test_datasets_do_not_see_each_other(handbook: Corpus) -> None:
    other = Corpus(handbook.record, "another")
    other.add("secret.md", ["The limit of exports is secret. ", "The limit of exports is hidden."])
    other.summarize("secret.md", "Secret limits of exports.")

    assert {hit.path for hit in other.search("What is the limit of exports?").hits} == {"secret.md"}
    assert "secret.md" not in {hit.path for hit in handbook.search("secret limit of exports", 30, 10).hits}


def test_the_same_query_gets_the_same_hits_in_the_same_order(handbook: Corpus) -> None:
    query = "limits and history"

    assert handbook.search(query).hits == handbook.search(query).hits


def test_rare_words_count_more_than_common_ones(handbook: Corpus) -> None:
    store = PostgresSearch(handbook.record.db)

    found = store.full_text(handbook.name, "the limit a day of exports", "english", 10)

    assert "exports" in store.leaf_rows(handbook.name, [found.leaves[0].node_id])[found.leaves[0].node_id].text


def test_a_search_sees_one_moment_though_a_version_is_switched_meanwhile(handbook: Corpus) -> None:
    store = PostgresSearch(handbook.record.db)
    with store.snapshot() as moment:
        before = moment.leaves_of(handbook.name, [handbook.id_of("exports.md")])
        handbook.add("exports.md", ["The limit of exports is 99 a day."])
        rows = moment.leaf_rows(handbook.name, before[handbook.id_of("exports.md")])

    assert any("exports is 43" in row.text for row in rows.values())
