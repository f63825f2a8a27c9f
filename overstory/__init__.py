"""Overstory: a hierarchical summary index for retrieval that stays true while its documents change."""

__version__ = "0.1.0"
