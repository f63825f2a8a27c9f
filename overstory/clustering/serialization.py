"""Writes a cluster model as bytes and reads it back."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
import zlib
from itertools import islice
from typing import Any

import numpy as np

from overstory.clustering.model import ClusterModel, Naming, rosters_of
from overstory.clustering.parameters import ClusterParameters
from overstory.errors import RecordTooNew, SettingsError, StoreError
from overstory.identity import ClusterId

FORMAT = 1
"""Grows when a reader of the former number would misread the bytes."""


def dump(model: ClusterModel) -> bytes:
    """The model as a compressed npz archive."""
    place = {cluster: row for row, cluster in enumerate(model.ids)}
    members = sorted(model.hashes)
    held = [model.memberships.get(member, ()) for member in members]
    text = {
        "format": FORMAT,
        "namespace": model.namespace,
        "level": model.level,
        "generation": model.generation,
        "parameters": dataclasses.asdict(model.parameters),
        "dimension": model.dimension,
        "margin": model.margin,
        "hysteresis": model.hysteresis,
        "fitted": model.fitted,
        "turned": model.turned,
        "ids": model.ids,
        "twins": sorted((place[one], place[other]) for one, other in model.twins),
        "members": members,
        "hashes": [model.hashes[member] for member in members],
        "memo": [[*key, *clusters] for key, clusters in model.memo.items()],
    }
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        text=np.frombuffer(json.dumps(text).encode("ascii"), dtype=np.uint8),
        basis=np.zeros((0, 0)) if model.basis is None else model.basis,
        centroids=model.centroids,
        gates=model.gates,
        counts=np.array([len(weights) for weights in held], dtype=np.uint8),
        clusters=np.array([place[c] for weights in held for c, _ in weights], dtype=np.int32),
        weights=np.array([weight for weights in held for _, weight in weights], dtype=np.float64),
    )
    return buffer.getvalue()


def load(raw: bytes) -> ClusterModel:
    """The model that ``dump`` wrote.

    Raises:
        RecordTooNew: A newer program wrote it.
        StoreError: The bytes are not a model.
    """
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        text = json.loads(arrays["text"].tobytes())
        if text["format"] > FORMAT:
            raise RecordTooNew(
                f"The clusters were stored in format {text['format']}, this program reads up to {FORMAT}",
                hint="Use the newer Overstory that wrote them",
            )
        return _assemble(text, arrays)
    except (LookupError, ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile, zlib.error, SettingsError) as e:
        raise StoreError("The stored clusters cannot be read", hint="Fit the clusters of the dataset anew") from e


def _assemble(text: dict[str, Any], arrays: dict[str, Any]) -> ClusterModel:
    ids = tuple(ClusterId(cluster) for cluster in text["ids"])
    pairs = iter(zip(arrays["clusters"].tolist(), arrays["weights"].tolist(), strict=True))
    memberships = {
        member: tuple((ids[cluster], weight) for cluster, weight in islice(pairs, count))
        for member, count in zip(text["members"], arrays["counts"].tolist(), strict=True)
        if count
    }
    return ClusterModel(
        naming=Naming(text["namespace"], text["level"], text["generation"]),
        parameters=ClusterParameters(**text["parameters"]),
        dimension=text["dimension"],
        basis=arrays["basis"] if arrays["basis"].size else None,
        ids=ids,
        centroids=arrays["centroids"],
        gates=arrays["gates"],
        margin=text["margin"],
        hysteresis=text["hysteresis"],
        twins=frozenset((ids[one], ids[other]) for one, other in text["twins"]),
        memberships=memberships,
        hashes=dict(zip(text["members"], text["hashes"], strict=True)),
        rosters=rosters_of(ids, memberships),
        memo={(member, state): tuple(clusters) for member, state, *clusters in text["memo"]},
        fitted=text["fitted"],
        turned=text["turned"],
    )
