"""From a text to its chunks, its sections and its leaves."""

from overstory.chunking.chunks import Chunk, chunk
from overstory.chunking.leaves import leaves
from overstory.chunking.sections import Section, sections

__all__ = ["Chunk", "Section", "chunk", "leaves", "sections"]
