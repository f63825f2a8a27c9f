"""The levels of an index as assets: one factory each, called once for every dataset."""
