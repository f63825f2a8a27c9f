from __future__ import annotations

import io
import json
import subprocess
import sys

import numpy as np
import pytest

from overstory.clustering import ClusterModel
from overstory.clustering.model import Naming
from overstory.errors import RecordTooNew, StoreError
from overstory.identity import unordered_child_hash
from tests.unit.clustering_corpora import fitted, topical


def rewritten(model: ClusterModel, **values: object) -> bytes:
    """The model's bytes with other values in their text part."""
    with np.load(io.BytesIO(model.to_bytes())) as archive:
        arrays = {name: archive[name] for name in archive.files}
    text = {**json.loads(arrays["text"].tobytes()), **values}
    arrays["text"] = np.frombuffer(json.dumps(text).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def test_members_of_a_cluster_come_in_order_with_their_weights() -> None:
    model = fitted(topical(60))
    for cluster in model.ids:
        members = model.members(cluster)
        assert members == tuple(sorted(members))
        assert all((cluster, weight) in model.memberships[member] for member, weight in members)


def test_members_of_an_unknown_cluster_are_an_error() -> None:
    with pytest.raises(KeyError):
        fitted(topical(60)).members(Naming("a", 2, 1).derive(["x"], ()))


def test_a_child_hash_is_over_the_summary_hashes_of_the_members() -> None:
    members = topical(5)
    model = fitted(members)
    assert model.child_hash(model.ids[0]) == unordered_child_hash(m.summary_hash for m in members)


def test_bytes_of_a_newer_program_are_refused() -> None:
    with pytest.raises(RecordTooNew, match="format 2"):
        ClusterModel.from_bytes(rewritten(fitted(topical(30)), format=2))


@pytest.mark.parametrize(
    "values", [{"ids": []}, {"members": []}, {"parameters": {"target_size": 0}}, {"parameters": {"unknown": 1}}]
)
def test_bytes_that_contradict_themselves_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        ClusterModel.from_bytes(rewritten(fitted(topical(30)), **values))


@pytest.mark.parametrize("raw", [b"", b"no archive", fitted(topical(30)).to_bytes()[:-40]])
def test_bytes_that_are_no_model_are_refused(raw: bytes) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        ClusterModel.from_bytes(raw)


def test_an_id_in_use_is_not_derived_twice() -> None:
    naming = Naming("handbook", 2, 1)
    first = naming.derive(["b", "a"], ())
    second = naming.derive(["a", "b"], [first])
    assert first == naming.derive(["a", "b"], ())
    assert len({first, second, naming.derive(["a", "b"], [first, second])}) == 3


def test_the_core_package_does_not_import_numpy() -> None:
    program = "import sys, overstory; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
