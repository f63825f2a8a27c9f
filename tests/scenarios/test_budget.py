"""What a budget covers."""

from __future__ import annotations

import pytest

from overstory.errors import BudgetExhausted
from tests.scenarios.corpora import corpus
from tests.scenarios.workbench import Workbench


def test_free_build_needs_no_budget(bench: Workbench) -> None:
    bench.settings["budget"] = {"usd": 0.0}
    bench.fill(corpus(3))
    assert bench.build().stage("document_summaries").written == 3


def test_embeddings_that_would_pass_the_budget_are_not_bought(loose_bench: Workbench) -> None:
    loose_bench.fill(corpus(3))
    loose_bench.settings["budget"] = {"usd": 0.01}
    loose_bench.settings["prices"] = {"usd_per_mtok_embedding": 1_000_000.0}
    loose_bench.context()
    embedder = loose_bench.embedder
    assert embedder is not None
    embedder.paid = True
    with pytest.raises(BudgetExhausted, match=r"Raise budget\.usd"):
        loose_bench.build()
    assert embedder.texts == []
