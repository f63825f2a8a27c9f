from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from overstory.clustering import Member
from tests.unit.clustering_corpora import fitted, topical

PROGRAM = """
import hashlib, sys
from overstory.clustering import recluster, update
from tests.unit.clustering_corpora import fitted, topical, vectors
members = topical(700, topics=50, dim=96)
for turn in range(int(sys.argv[1])):
    members = members[1::2] + members[::2]
model = fitted([m for m in members if m.id < "d0600"])
changed = update(model, upserts=[m for m in members if m.id >= "d0600"], deletes=["d0001"], current=vectors(members))
later = recluster(changed.model, [m for m in members if m.id != "d0001"])
found = [sorted((m, w) for m, w in part.memberships.items()) for part in (model, changed.model, later)]
print(hashlib.sha256(repr(found).encode()).hexdigest())
"""


def membership_hash(threads: int, turns: int, seed: int) -> str:
    """What another process makes of the same corpus."""
    variables = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "PYTHONHASHSEED": str(seed),
    }
    command = [sys.executable, "-c", PROGRAM, str(turns)]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout


def test_case_29_processes_threads_and_orders_agree_on_memberships_and_weights() -> None:
    runs = [membership_hash(1, 0, 1), membership_hash(8, 0, 23), membership_hash(8, 3, 4567)]
    assert len(set(runs)) == 1


@pytest.mark.parametrize("count", [100, 400])
def test_case_29_float64_vectors_give_the_same_model(count: int) -> None:
    members = topical(count, dim=96)
    double: list[Member] = []
    for m in members:
        wide: np.ndarray[tuple[int], np.dtype[np.float64]] = m.vector.astype(np.float64)
        double.append(replace(m, vector=wide))  # type: ignore[arg-type]  # callers may hand over float64
    assert fitted(double).to_bytes() == fitted(members).to_bytes()


def test_the_length_of_vectors_does_not_matter() -> None:
    members = topical(100)
    longer = [replace(m, vector=m.vector * np.float32(4)) for m in members]
    assert fitted(longer).memberships == fitted(members).memberships
