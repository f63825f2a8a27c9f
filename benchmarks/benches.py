"""Workbenches on a server of their own, with a local model that counts, for benchmarks of changes."""

from __future__ import annotations

import itertools
import json
import lzma
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from overstory.adapters.embedded_postgres import ServerAddress, remove, start
from tests.llm_behaviors import Behavior, Call, Response, completion, extract
from tests.llm_server import LLMServer
from tests.scenarios.history import lay_out
from tests.scenarios.workbench import DATASET, Built, Workbench

SHARED = Path(__file__).resolve().parents[2] / "shared"
PEPS = Path("data/eval/peps/corpus.jsonl.xz")

MakeBench = Callable[..., Workbench]


def rephrasing(call: Call) -> Response:
    """What holds most facts, and words that no other material gets: nothing comes out as it was."""
    words = "".join(chr(ord("a") + int(digit, 16)) for digit in call.prompt_hash[:8])
    return completion(call, f"{extract(call.material, call.target_tokens)} {words}")


def remembering(behavior: Behavior) -> Behavior:
    """The same answers without the work: the benchmark measures builds, not the stand-in."""
    known: dict[tuple[str, object], Response] = {}

    def behave(call: Call) -> Response:
        key = call.prompt_hash, call.body.get("max_tokens")
        if key not in known:
            known[key] = behavior(call)
        return known[key]

    return behave


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls and tokens of a build."""

    calls: Counter[str] = field(default_factory=Counter)
    """By kind of node."""
    documents: Counter[str] = field(default_factory=Counter)
    """Of documents and sections, by document."""
    tokens_in: Counter[str] = field(default_factory=Counter)
    """By kind of node."""
    tokens_out: int = 0

    @property
    def tokens(self) -> int:
        """Input and output."""
        return self.tokens_in.total() + self.tokens_out


def spent(bench: Workbench) -> Spent:
    """What the last build cost, from the ledger."""
    found = Spent()
    tokens_out = 0
    rows = bench.sql(
        "select l.kind, s.document_id::text, l.tokens_in, l.tokens_out from ledger l"
        " left join summary s on s.id = l.node_id where l.run_id = :run",
        run=f"run {bench.runs}",
    )
    for kind, document, tokens_in, out in rows:
        found.calls[kind] += 1
        found.tokens_in[kind] += tokens_in
        tokens_out += out
        if document:
            found.documents[document] += 1
    return Spent(found.calls, found.documents, found.tokens_in, tokens_out)


@dataclass(slots=True)
class Benches:
    """Makes workbenches with databases of their own."""

    server: LLMServer
    address: ServerAddress
    folder: Path
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def make(self, *, paid: bool = True) -> Workbench:
        """An empty one, whose summaries come from the model unless they are to be free."""
        name = f"bench_{next(self.numbers)}"
        with psycopg.connect(ServerAddress(self.address.host_socket_dir, "postgres").libpq_url, autocommit=True) as db:
            db.execute(f"create database {name}")
        bench = Workbench(self.folder / name, ServerAddress(self.address.host_socket_dir, name).libpq_url)
        if paid:
            bench.settings["summarizer"] = {"kind": "openai", "model": "stub", "base_url": self.server.base_url}
        return bench

    def rebuild(self, tree: Mapping[str, str]) -> Spent:
        """What a first build of the tree costs."""
        bench = self.make()
        lay_out(bench, tree)
        bench.build()
        found = spent(bench)
        self.drop(bench)
        return found

    def drop(self, bench: Workbench) -> None:
        """Remove a bench with its documents and its database."""
        bench.record.close()
        shutil.rmtree(bench.folder)


def built(bench: Workbench, tree: Mapping[str, str]) -> Built:
    """Bring the documents to the tree and build."""
    lay_out(bench, tree)
    return bench.build()


@contextmanager
def opened() -> Iterator[Benches]:
    """Benches on a database server that is removed afterwards."""
    os.environ["OPENAI_API_KEY"] = "benchmark"
    root = Path(tempfile.mkdtemp(prefix="overstory-benchmark-"))
    root.chmod(0o711)
    home = root / "home"
    try:
        with LLMServer() as server:
            server.keep_calls = False
            yield Benches(server, start(home), root)
    finally:
        remove(home)
        shutil.rmtree(root, ignore_errors=True)


def peps() -> dict[str, str]:
    """The PEPs that lie beside the checkout, by path."""
    with lzma.open(SHARED / PEPS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {f"peps/{row['doc_id']}.txt": row["text"] for row in rows}


def table(*rows: tuple[str, str, str]) -> None:
    """Print figures beside their limits."""
    print("| figure | measured | limit |\n|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


__all__ = [
    "DATASET",
    "SHARED",
    "Benches",
    "Spent",
    "built",
    "opened",
    "peps",
    "remembering",
    "rephrasing",
    "spent",
    "table",
]
