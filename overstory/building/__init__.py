"""The use cases of a build, one for each level of the index."""
