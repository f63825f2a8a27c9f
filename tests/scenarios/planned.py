"""Compares a plan with what the build then does: calls, embeddings, and nodes by level and cause."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass

import pytest

from overstory.planning import Plan
from tests import llm_behaviors as behaviors
from tests.llm_server import LLMServer
from tests.scenarios.workbench import Built, Workbench

Nodes = dict[tuple[int, str], int]
"""Summaries by level and cause."""


def obedient(call: behaviors.Call) -> behaviors.Response:
    """The sentences that hold most facts, filled up with words to the length that the prompt asks for.

    Another model or prompt gives another text.
    """
    asked = f"{call.body['model']} {call.prompt.split(call.material)[0]}"
    signature = "".join(chr(ord("a") + int(digit, 16)) for digit in hashlib.sha256(asked.encode()).hexdigest()[:6])
    words = f"{signature} {behaviors.extract(call.material, call.target_tokens)} {call.material}".split(" ")
    while behaviors.TOKENIZER.count(" ".join(words)) > call.target_tokens:
        words = words[: len(words) - max(1, len(words) // 50)]
    return behaviors.completion(call, " ".join(words))


@dataclass(frozen=True, slots=True)
class Compared:
    """A plan, the build after it, and what the stores say that it did."""

    plan: Plan
    built: Built
    chats: int
    embedded: int
    """Texts that the embedder was given."""
    called: Nodes
    """Nodes that calls were made for."""

    def agree(self) -> None:
        """What is said to be exact is, and the clusters lie within their bounds, by level and cause."""
        documents, clusters = self.built.stage("document_summaries"), self.built.stage("cluster_summaries")
        exact = self.plan.exact
        assert (exact.calls, len(self.plan.actions)) == (documents.calls, documents.written + documents.failed)
        assert exact.tokens_in == pytest.approx(documents.tokens_in, rel=0.1)
        assert exact.tokens_out == pytest.approx(documents.tokens_out, rel=0.1)
        assert exact.usd == pytest.approx(documents.usd, rel=0.1)
        assert {key: n for key, n in self.called.items() if key[0] < 2} == self.planned_below_clusters
        assert sum(self.plan.embeddings.values()) == self.embedded - clusters.embedded
        least, expected, most = self.plan.clusters.summaries
        assert least <= clusters.written + clusters.failed <= most, (self.plan.clusters, clusters)
        assert self.plan.embeddings_expected == self.embedded - clusters.embedded + expected
        assert self.plan.clusters.least.calls <= clusters.calls <= self.plan.clusters.most.calls
        assert self.chats == documents.calls + clusters.calls

    def agree_on_clusters(self) -> None:
        """The clusters too come out as expected, each with its price."""
        self.agree()
        clusters = self.built.stage("cluster_summaries")
        assert self.plan.clusters.summaries[1:] == (clusters.written, clusters.written)
        assert self.plan.clusters.expected.calls == clusters.calls
        assert self.plan.clusters.expected.tokens_in == pytest.approx(clusters.tokens_in, rel=0.1)
        assert self.plan.clusters.expected.tokens_out == pytest.approx(clusters.tokens_out, rel=0.1)
        assert self.called_above == self.expected_above

    def bounds(self, level: int) -> tuple[int, ...]:
        """Least, expected and most summaries of a level."""
        return tuple(
            sum(part.summaries[n] for part in self.plan.clusters.levels if part.level == level) for n in range(3)
        )

    @property
    def planned_below_clusters(self) -> Nodes:
        """Nodes that calls are planned for."""
        return dict(Counter((a.level, a.cause) for a in self.plan.actions if a.price.calls))

    @property
    def called_above(self) -> Nodes:
        """Clusters that calls were made for."""
        return {key: n for key, n in self.called.items() if key[0] > 1}

    @property
    def expected_above(self) -> Nodes:
        """Clusters that are expected to be written by a call."""
        found: Counter[tuple[int, str]] = Counter()
        for part in self.plan.clusters.levels:
            found[part.level, part.cause] += part.expected.calls
        return {key: n for key, n in found.items() if n}


def compare(bench: Workbench, server: LLMServer) -> Compared:
    """Plan, then build."""
    server.reset()
    server.default = obedient
    plan = bench.plan()
    assert len(server.chats) == 0
    assert bench.embedder is not None
    bench.embedder.texts.clear()
    built = bench.build()
    rows = bench.sql(
        "select s.level, l.cause, count(distinct s.id) from ledger l join summary s on s.id = l.node_id"
        " where l.run_id = :run group by s.level, l.cause",
        run=f"run {bench.runs}",
    )
    called = {(level, cause): count for level, cause, count in rows}
    return Compared(plan, built, len(server.chats), len(bench.embedder.texts), called)
