"""What a search serves, measured against questions with known answers."""
