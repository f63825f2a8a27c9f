"""What a budget covers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from overstory.building.budget import Reservations
from overstory.building.document_summaries import summarize_documents
from overstory.building.documents import sync_documents
from overstory.building.leaves import cut_leaves
from overstory.errors import BudgetExhausted
from overstory.identity import document_id, recipe_hash
from overstory.nodes import NodeKind
from overstory.ports import EMBEDDING, Call, StoreOutcomes, SummaryOutcome, SummaryRequest
from overstory.summarizing import CONTENT_ATTEMPTS
from tests import llm_behaviors as behaviors
from tests.llm_server import LLMServer
from tests.scenarios.corpora import corpus
from tests.scenarios.planned import obedient
from tests.scenarios.workbench import DATASET, CountingEmbedder, Workbench

if TYPE_CHECKING:
    from overstory.ports import Vectors

DEAR = {"usd_per_mtok_in": 1000.0, "usd_per_mtok_out": 1000.0}
"""A tenth of a cent a token."""


@dataclass(slots=True)
class PaidEmbedder(CountingEmbedder):
    """An embedder whose every token costs a dollar, each call in the ledger."""

    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name, self.paid = "paid", True

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        tokens = sum(map(behaviors.TOKENIZER.count, texts))
        self.calls.append(Call("", EMBEDDING, "embed", "paid", tokens, 0, float(tokens), 0.0, "ok"))
        return self.inner.embed(texts)

    def take_calls(self) -> list[Call]:
        taken, self.calls = self.calls, []
        return taken


def spent(bench: Workbench) -> float:
    return bench.record.ledger.spent(DATASET).usd


def cut_off(call: behaviors.Call) -> behaviors.Response:
    """An answer as long as it may be, and not at its end."""
    words = call.material.split(" ") * 20
    while behaviors.TOKENIZER.count(" ".join(words)) > behaviors.max_tokens(call):
        words = words[: len(words) - max(1, len(words) // 50)]
    return behaviors.completion(call, " ".join(words), finish_reason="length")


@dataclass(slots=True)
class Dearest:
    """Every prompt is asked twice; each time the first attempt is charged and brings nothing."""

    seen: Counter[str] = field(default_factory=Counter)

    def __call__(self, call: behaviors.Call) -> behaviors.Response:
        self.seen[call.prompt_hash] += 1
        return behaviors.drops(call) if self.seen[call.prompt_hash] % 2 else cut_off(call)


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
    with pytest.raises(BudgetExhausted, match=r"raise budget\.usd"):
        loose_bench.build()
    assert embedder.texts == []


@pytest.mark.parametrize("budget", [1.0, 4.0, 7.0])
def test_calls_that_go_as_badly_as_they_may_do_not_pass_the_budget(
    llm_bench: Workbench, llm_server: LLMServer, budget: float
) -> None:
    llm_bench.settings |= {"chunking": {"leaf_tokens": 64}, "prices": DEAR, "budget": {"usd": budget}}
    llm_bench.fill(corpus(6, paragraphs=6))
    llm_server.default = Dearest()
    with pytest.raises(BudgetExhausted, match="with its retries"):
        llm_bench.build()
    assert spent(llm_bench) <= budget
    llm_bench.settings["budget"] = {}
    llm_server.reset()
    llm_bench.build()


def test_call_costs_no_more_than_is_reserved_for_it_and_not_much_less(
    llm_bench: Workbench, llm_server: LLMServer
) -> None:
    llm_bench.settings |= {"chunking": {"leaf_tokens": 64}, "prices": DEAR, "budget": {"usd": 1000.0}}
    llm_bench.fill(corpus(1, paragraphs=6))
    llm_server.default = Dearest()
    llm_bench.build()
    (text,) = corpus(1, paragraphs=6).values()
    (first, *_) = [call for call in llm_server.chats]
    request = SummaryRequest("n", NodeKind.DOCUMENT_SUMMARY, (text,), first.target_tokens, behaviors.max_tokens(first))
    assert len(llm_server.chats) == 4
    assert spent(llm_bench) == pytest.approx(Reservations(llm_bench.context()).dearest(request), rel=0.05)
    llm_server.reset()
    llm_bench.build()


def test_what_a_call_did_cost_is_settled_when_it_has_landed(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings |= {"chunking": {"leaf_tokens": 64}, "prices": DEAR}
    llm_bench.fill(corpus(50, paragraphs=6))
    llm_server.default = obedient
    planned = llm_bench.plan()
    largest = SummaryRequest("n", NodeKind.CLUSTER_SUMMARY, ("word " * 24 * 440,), 760, 760)
    llm_bench.settings["budget"] = {"usd": 1.0}
    enough = planned.expected.usd + Reservations(llm_bench.context()).dearest(largest)
    llm_bench.settings["budget"] = {"usd": enough}
    built = llm_bench.build()
    assert built.total.failed == 0
    assert len(planned.actions) * 2.0 > enough  # two dollars are less than any of these calls costs at its dearest


@pytest.mark.parametrize("budget", [1500.0, 2000.0, 3000.0])
def test_embeddings_and_calls_share_the_budget(llm_bench: Workbench, llm_server: LLMServer, budget: float) -> None:
    prices = {"usd_per_mtok_embedding": 1_000_000.0, "usd_per_mtok_in": 100_000.0, "usd_per_mtok_out": 100_000.0}
    llm_bench.settings |= {"chunking": {"leaf_tokens": 64}, "prices": prices, "budget": {"usd": budget}}
    llm_bench.fill({**corpus(3, paragraphs=6), **{f"short{n}.md": text for n, text in enumerate(corpus(3).values())}})
    llm_bench.embedder = PaidEmbedder(llm_bench.context().embedder)
    with pytest.raises(BudgetExhausted):
        llm_bench.build()
    assert 0 < spent(llm_bench) <= budget
    llm_bench.settings["budget"] = {}
    llm_bench.build()


@dataclass(slots=True)
class WorstSummarizer:
    """Takes all requests that it is given before it answers, and costs as much as may be."""

    name: str = "worst"
    paid: bool = True
    concurrency: int = 1024

    def recipe_hash(self, kind: NodeKind) -> str:
        return recipe_hash("worst", str(kind), "")

    def prompt_tokens(self, request: SummaryRequest) -> tuple[int, int]:
        return 1, 100

    def summarize_many(self, requests: Iterable[SummaryRequest], store: StoreOutcomes) -> None:
        store([self._answer(request) for request in list(requests)])

    def _answer(self, request: SummaryRequest) -> SummaryOutcome:
        text = " ".join(["word"] * CONTENT_ATTEMPTS * request.max_tokens)
        call = Call(request.key, request.kind, "new", "worst", 200, 3 * request.max_tokens, 528.0, 0.0, "ok")
        return SummaryOutcome(request.key, text, calls=(call,))


@pytest.mark.parametrize("spare", [10.0, 200.0, 400.0])
def test_embeddings_of_what_takes_no_call_wait_for_calls_in_flight(loose_bench: Workbench, spare: float) -> None:
    loose_bench.settings |= {
        "chunking": {"leaf_tokens": 64},
        "prices": {"usd_per_mtok_embedding": 1_000_000.0, "usd_per_mtok_in": 0.0, "usd_per_mtok_out": 400_000.0},
    }
    short = {f"short/{path}": text for path, text in corpus(100).items()}
    loose_bench.fill({**short, early_path(): corpus(1, paragraphs=6)["billing/000.md"]})
    loose_bench.embedder = PaidEmbedder(loose_bench.context().embedder)
    cut_leaves_only(loose_bench)
    budget = spare + sum(behaviors.TOKENIZER.count(text.strip()) for text in short.values())
    loose_bench.settings["budget"] = {"usd": budget}
    run = loose_bench.context(summarizer=WorstSummarizer())
    with pytest.raises(BudgetExhausted):
        summarize_documents(run)
    assert 0 < loose_bench.record.ledger.spent(DATASET, run.run_id).usd <= budget


def early_path() -> str:
    """A path whose document is in the first batch."""
    return next(path for n in range(100) if document_id(DATASET, path := f"long/{n}.md") < "1")


def cut_leaves_only(bench: Workbench) -> None:
    ctx = bench.context()
    sync_documents(ctx)
    cut_leaves(ctx)


def test_plan_warns_of_a_price_beyond_the_budget_of_a_run(llm_bench: Workbench) -> None:
    llm_bench.settings |= {"chunking": {"leaf_tokens": 64}, "prices": DEAR, "budget": {"usd": 0.001}}
    llm_bench.fill(corpus(3, paragraphs=6))
    (note,) = llm_bench.plan().notes
    assert "more than budget.usd, 0.001 per run" in note
    llm_bench.settings["budget"] = {"usd": 1000.0}
    assert llm_bench.plan().notes == ()
    llm_bench.build()
