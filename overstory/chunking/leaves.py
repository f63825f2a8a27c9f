"""Makes the level-0 nodes of a document version from its chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from overstory.chunking.chunks import Chunk
from overstory.identity import DocumentId, content_hash, leaf_id
from overstory.nodes import Leaf


def leaves(document: DocumentId, text: str, chunks: Sequence[Chunk]) -> list[Leaf]:
    """The leaves of a document version: hashed over what is read, equal ones told apart by their occurrence."""
    occurrences: Counter[str] = Counter()
    made = []
    for ordinal, each in enumerate(chunks):
        own = text[each.start : each.end]
        hashed = content_hash(each.context + own)
        made.append(
            Leaf(
                id=leaf_id(document, hashed, occurrences[hashed]),
                ordinal=ordinal,
                start=each.start,
                end=each.end,
                text=own,
                context=each.context,
                content_hash=hashed,
                tokens=each.tokens,
                headings=each.headings,
            )
        )
        occurrences[hashed] += 1
    return made
