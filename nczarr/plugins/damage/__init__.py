"""Damage in data: every chunk is read and decoded, and values are judged by their attributes (`check --data`)."""
