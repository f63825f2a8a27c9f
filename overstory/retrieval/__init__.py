"""Search over all levels at once, and the view of a single node."""
