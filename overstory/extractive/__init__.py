"""The free, private, deterministic summarizer: statements of the source, chosen for its facts and its topic."""

from __future__ import annotations

from overstory.extractive.summarizer import ExtractiveSummarizer
from overstory.extractive.summarizing import VERSION, summarize

__all__ = ["VERSION", "ExtractiveSummarizer", "summarize"]
