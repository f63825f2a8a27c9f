"""Resources of the assets."""
