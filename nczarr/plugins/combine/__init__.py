"""Many datasets as one: joined, appended, or named by aggregation variables."""
