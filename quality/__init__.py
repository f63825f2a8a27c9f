"""What an index must hold to whatever happened to it: invariants, read back from the stores."""
