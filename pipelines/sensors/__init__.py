"""Sensors: what notices that an index has to be built. They read and request; only runs write."""
