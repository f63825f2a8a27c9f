"""Time, memory and calls per change of the clusters, as one table.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.clustering [--long]

Corpora: the PEPs (their heads embedded with wordllama; skipped where the corpus is absent) and a synthetic mixture of
8,000. 100 members are held back as additions; each change is made alone to the fitted model. Edits move a vector
towards another member; their size has the median (cosine .996) and the 5 % quantile (.93) of edits in a policy
repository. ``--long`` adds 1,000 mixed changes one after the other (60 % edits, 20 % additions, 20 % deletions).
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from overstory.clustering import Change, ClusterModel, Member, cohesion, drift, fit, propose, update
from overstory.identity import digest

Vectors = NDArray[np.float32]

PEPS = Path(__file__).parents[2] / "shared" / "data" / "eval" / "peps" / "corpus.jsonl.xz"
HEAD_CHARS = 1_500
CHANGES = 100
SEED = 20


@dataclass(frozen=True, slots=True)
class Tally:
    """What changes of one kind cost."""

    calls: list[int]
    identical: list[float]
    seconds: list[float]

    def row(self, name: str) -> str:
        low, mid = np.percentile(self.calls, 95), np.mean(self.calls)
        return (
            f"  {name:8} calls {mid:5.2f}  p95 {low:3.0f}  max {max(self.calls):2d}"
            f"  identical {np.mean(self.identical):7.2%}  {np.median(self.seconds) * 1e3:5.2f} ms"
        )


def peps() -> Vectors | None:
    """Unit vectors of the heads of the PEPs, (691, 256); None where the corpus is absent."""
    if not PEPS.exists():
        return None
    import wordllama

    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    with lzma.open(PEPS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [f"{row['title']}\n{row['text'].partition(chr(10) * 2)[2][:HEAD_CHARS]}" for row in rows]
    return np.asarray(model.embed(texts, norm=True), dtype=np.float32)


def mixture(count: int) -> Vectors:
    """Topics of unequal size that overlap, around a common direction as real embeddings have, (count, 256)."""
    draw = np.random.default_rng(SEED)
    topics = draw.normal(size=(count // 25, 24))
    shares = draw.dirichlet(np.full(len(topics), 1.5))
    latent = topics[draw.choice(len(topics), count, p=shares)] + 0.6 * draw.normal(size=(count, 24))
    rows = latent @ draw.normal(size=(24, 256)) / 24**0.5 + 0.9 * draw.normal(size=256)
    rows += 0.3 * draw.normal(size=rows.shape)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def as_members(vectors: Vectors) -> list[Member]:
    """The rows as members with made-up ids."""
    return [Member(digest("id", str(n)), row, digest("text", str(n))) for n, row in enumerate(vectors)]


def edited(member: Member, others: Sequence[Member], draw: np.random.Generator) -> Member:
    """The member after an edit of random size."""
    away = min(0.5, float(np.exp(np.log(0.004) + 1.74 * draw.normal())))
    old = member.vector.astype(np.float64)
    other = others[int(draw.integers(len(others)))].vector.astype(np.float64)
    aside = other - (other @ old) * old
    aside /= np.linalg.norm(aside) or 1.0
    near = 1 - away
    moved = near * old + (1 - near**2) ** 0.5 * aside
    return replace(member, vector=moved.astype(np.float32), summary_hash=digest("text", str(draw.integers(1 << 62))))


def measure(model: ClusterModel, changes: Sequence[Callable[[], Change]]) -> Tally:
    """Make each change alone."""
    tally = Tally([], [], [])
    for change in changes:
        start = time.perf_counter()
        found = change()
        tally.seconds.append(time.perf_counter() - start)
        tally.calls.append(len(found.dirty))
        tally.identical.append(1 - (len(found.touched) + len(found.removed)) / len(model.ids))
    return tally


def peak_of_fit(members: Sequence[Member]) -> float:
    """Peak of a fit's own allocations, in MB (10^6 bytes)."""
    tracemalloc.start()
    fit(members, namespace="benchmark", generation=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def report_fit(name: str, members: Sequence[Member]) -> ClusterModel:
    """Fit, and print what it took and gave."""
    start = time.process_time()
    model = fit(members, namespace="benchmark", generation=1)
    seconds = time.process_time() - start
    start = time.perf_counter()
    raw = model.to_bytes()
    written = time.perf_counter() - start
    start = time.perf_counter()
    ClusterModel.from_bytes(raw)
    read = time.perf_counter() - start
    sizes = [len(roster) for roster in model.rosters.values()]
    mean = sum(sizes) / len(members)
    print(f"{name}: {len(members)} members, K {len(model.ids)}, sizes {min(sizes)}-{max(sizes)}, m {mean:.2f}")
    print(f"  margin {model.margin:.3f}, cohesion {cohesion(model, members):.3f}")
    print(f"  fit {seconds:.2f} s of CPU, peak {peak_of_fit(members):.0f} MB")
    print(f"  bytes {len(raw):,}, written in {written * 1e3:.0f} ms, read in {read * 1e3:.0f} ms")
    return model


def report(name: str, vectors: Vectors) -> None:
    """Fit all but ``CHANGES`` members and change single ones."""
    draw = np.random.default_rng(SEED)
    members = as_members(vectors)
    order = draw.permutation(len(members))
    spare, present = [members[n] for n in order[:CHANGES]], [members[n] for n in order[CHANGES:]]
    model = report_fit(name, present)
    current = {member.id: member.vector for member in members}
    chosen = [present[n] for n in draw.permutation(len(present))[:CHANGES]]
    edits = [edited(member, present, draw) for member in chosen]
    added = [partial(update, model, upserts=[m], current=current) for m in spare]
    print(measure(model, [partial(update, model, upserts=[m], current=current) for m in edits]).row("edit"))
    print(measure(model, added).row("add"))
    gone = [partial(update, model, deletes=[m.id], current=current) for m in chosen]
    print(measure(model, gone).row("delete"))


def report_long(name: str, vectors: Vectors, start: int, changes: int = 1_000) -> None:
    """Mixed changes one after the other."""
    draw = np.random.default_rng(SEED)
    members = as_members(vectors)
    order = draw.permutation(len(members))
    present = {members[n].id: members[n] for n in order[:start]}
    spare = [members[n] for n in order[start:]]
    model = fit(list(present.values()), namespace="benchmark", generation=1)
    calls = 0
    for kind in draw.choice(3, changes, p=[0.6, 0.2, 0.2]):
        current = {member.id: member.vector for member in present.values()}
        ids = sorted(present)
        victim = present[ids[int(draw.integers(len(ids)))]]
        if kind == 0:
            victim = edited(victim, list(present.values()), draw)
        elif kind == 1:
            victim = spare.pop(int(draw.integers(len(spare))))
        if kind == 2:
            del present[victim.id]
            spare.append(victim)
            change = update(model, deletes=[victim.id], current=current)
        else:
            present[victim.id] = victim
            change = update(model, upserts=[victim], current=current)
        model, calls = change.model, calls + len(change.dirty)
    rest = list(present.values())
    sizes = [len(roster) for roster in model.rosters.values()]
    fresh = fit(rest, namespace="benchmark", generation=9)
    print(
        f"{name}: {changes} changes from {start} on: {calls / changes:.2f} calls each, sizes {min(sizes)}-{max(sizes)}"
    )
    mean = sum(sizes) / len(rest)
    print(f"  m {mean:.2f}, cohesion {cohesion(model, rest):.3f}, of a fresh fit {cohesion(fresh, rest):.3f}")
    found, price = drift(model, rest), propose(model, rest)
    print(f"  misplaced {found.misplaced:.1%}, turnover {found.turnover:.0%}, propose {found.propose}")
    print(f"  warm: {price.calls} calls, cohesion {price.cohesion_then:.3f}, ids kept {price.ids_kept:.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="also 1,000 changes one after the other")
    asked = parser.parse_args()
    corpora = {"PEPs": peps(), "mixture": mixture(8_100)}
    for name, vectors in corpora.items():
        if vectors is None:
            print(f"{name}: skipped, there is no {PEPS.name}")
            continue
        report(name, vectors)
        if asked.long:
            report_long(name, vectors, 500 if len(vectors) < 1_000 else 6_000)


if __name__ == "__main__":
    main()
