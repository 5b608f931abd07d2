"""Arrays made of those of several sources: joined, raised, placed, packed again, as tables of chunks."""
