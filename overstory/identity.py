"""Ids and hashes: derived from what they name, never drawn, so that two builds agree.

A hash is SHA-256 over a format byte, a purpose and length-prefixed fields: no two different lists of fields
have the same encoding. Ids are UUIDv5 (RFC 9562) over the same encoding.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from typing import NewType

DocumentId = NewType("DocumentId", str)
VersionId = NewType("VersionId", str)
NodeId = NewType("NodeId", str)
ClusterId = NewType("ClusterId", str)

FORMAT = b"\x01"
"""Changes when the encoding below changes: every hash then differs, on purpose."""

NAMESPACE = uuid.UUID("6f1d7a52-30c5-5b0e-9c44-0d5a3f6b1e70")

SHARDS = 64
"""Partitions of a dataset, fixed for the life of an index (docs/decisions: hash shards)."""


def encode(purpose: str, fields: Iterable[str]) -> bytes:
    """The injective byte encoding of a purpose and its fields."""
    parts = [FORMAT]
    for field in (purpose, *fields):
        raw = field.encode("utf-8")
        parts += [len(raw).to_bytes(8, "big"), raw]
    return b"".join(parts)


def digest(purpose: str, *fields: str) -> str:
    """SHA-256 of the fields, as 64 hexadecimal digits."""
    return hashlib.sha256(encode(purpose, fields)).hexdigest()


def derive_id(purpose: str, *fields: str) -> str:
    """A UUIDv5 of the fields, in its usual spelling of 36 characters."""
    return str(uuid.uuid5(NAMESPACE, encode(purpose, fields).hex()))


def content_hash(text: str) -> str:
    """What a normalized text is."""
    return digest("content", text)


def ordered_child_hash(children: Iterable[str]) -> str:
    """What a node was made from, where the order of its children carries meaning."""
    return digest("children", *children)


def unordered_child_hash(children: Iterable[str]) -> str:
    """What a cluster was made from: its members' summary hashes, sorted, so that a rename costs nothing."""
    return digest("members", *sorted(children))


def recipe_hash(model: str, prompt: str, parameters: str) -> str:
    """How a summary is made: 64 hexadecimal digits, of which 16 tell the model and 24 each prompt and parameters.

    The parts are kept apart so that a plan can say which of them changed.
    """
    return digest("model", model)[:16] + digest("prompt", prompt)[:24] + digest("parameters", parameters)[:24]


def with_parameters(recipe: str, parameters: str) -> str:
    """A recipe hash whose parameters part also depends on ``parameters``."""
    return recipe[:40] + digest("parameters", recipe[40:], parameters)[:24]


def recipe_change(old: str, new: str) -> str:
    """What differs between two recipe hashes: ``model``, ``prompt`` or ``parameters``; empty when nothing does."""
    parts = {"model": slice(0, 16), "prompt": slice(16, 40), "parameters": slice(40, 64)}
    return next((name for name, part in parts.items() if old[part] != new[part]), "")


def document_id(dataset: str, path: str, salt: str = "") -> DocumentId:
    """The id of the document first seen at ``path``; ``salt`` tells a reused path from its former owner."""
    return DocumentId(derive_id("document", dataset, path, *([salt] if salt else [])))


def version_id(document: DocumentId, number: int) -> VersionId:
    """The id of a document's version, counted from 1."""
    return VersionId(derive_id("version", document, str(number)))


def leaf_id(document: DocumentId, leaf_content_hash: str, occurrence: int) -> NodeId:
    """The id of a leaf; ``occurrence`` counts equal texts within the document from 0."""
    return NodeId(derive_id("leaf", document, leaf_content_hash, str(occurrence)))


def summary_id(kind: str, owner: str, place: str = "") -> NodeId:
    """The id of a summary: its kind, what it summarizes, and where within it (a section's ordinal)."""
    return NodeId(derive_id("summary", kind, owner, place))


def shard_of(identifier: str) -> int:
    """The shard, 0 to 63, of a document or cluster id."""
    return uuid.UUID(identifier).int % SHARDS


def shard_key(shard: int) -> str:
    """The partition key of a shard: ``00`` to ``63``."""
    return f"{shard:02d}"
