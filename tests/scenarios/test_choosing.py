"""Builds of some shards or some documents, and documents that come back."""

from __future__ import annotations

import pytest

from overstory import api
from overstory.errors import SettingsError
from overstory.identity import DocumentId, document_id, shard_of
from tests.scenarios.corpora import corpus, document
from tests.scenarios.workbench import Workbench


def path_in_another_shard(dataset: str, path: str) -> str:
    """A path whose own document would belong to another shard."""
    mine = shard_of(document_id(dataset, path))
    return next(p for n in range(100) if shard_of(document_id(dataset, p := f"moved/{n}.md")) != mine)


def test_moved_document_keeps_its_id_when_only_its_old_shard_is_built(bench: Workbench) -> None:
    bench.fill(corpus(3))
    bench.build()
    path = bench.paths()[0]
    before = bench.id_of(path)
    new = path_in_another_shard(bench.dataset.name, path)
    bench.write(new, corpus(3)[path])
    bench.remove(path)
    report = bench.build(shards=[shard_of(before)])
    assert bench.id_of(new) == before
    assert report.total.embedded == 0


def test_moved_document_waits_where_only_other_shards_are_built(bench: Workbench) -> None:
    bench.fill(corpus(3))
    bench.build()
    path = bench.paths()[0]
    before = bench.id_of(path)
    new = path_in_another_shard(bench.dataset.name, path)
    bench.write(new, corpus(3)[path])
    bench.remove(path)
    bench.build(shards=[shard_of(document_id(bench.dataset.name, new))])
    assert new not in bench.paths()
    bench.build()
    assert bench.id_of(new) == before


def test_document_at_a_reused_path_is_found_by_that_path(bench: Workbench) -> None:
    bench.fill(corpus(3))
    bench.build()
    path = bench.paths()[0]
    owner = bench.id_of(path)
    bench.write("elsewhere.md", corpus(3)[path])
    bench.remove(path)
    bench.build()
    bench.write(path, document("garden", 7))
    (chosen,) = api.choose_documents(bench.context(), [path])
    assert chosen != owner
    bench.build(only=frozenset({chosen}))
    assert bench.id_of(path) == chosen


def test_document_that_was_never_built_is_found_by_its_id_too(loose_bench: Workbench) -> None:
    loose_bench.fill(corpus(2))
    (by_path,) = api.choose_documents(loose_bench.context(), [sorted(corpus(2))[0]])
    assert api.choose_documents(loose_bench.context(), [by_path]) == {by_path}


def test_unknown_document_is_named(loose_bench: Workbench) -> None:
    loose_bench.fill(corpus(1))
    with pytest.raises(SettingsError, match=r"no document 'nowhere\.md'"):
        api.choose_documents(loose_bench.context(), ["nowhere.md"])


def test_only_the_chosen_document_is_made(loose_bench: Workbench) -> None:
    loose_bench.fill(corpus(3))
    chosen = document_id(loose_bench.dataset.name, sorted(corpus(3))[0])
    built = loose_bench.build(only=frozenset({DocumentId(chosen)}))
    assert built.stage("document_summaries").written == 1


def test_document_that_failed_is_tried_again_and_writes_nothing_while_it_fails(bench: Workbench) -> None:
    bench.fill({**corpus(2), "broken.pdf": b"%PDF-1.7 cut short"})
    first = bench.build()
    assert len(first.reasons) == 1
    before = bench.dump()
    second = bench.build()
    assert second.reasons == first.reasons
    assert bench.dump() == before
