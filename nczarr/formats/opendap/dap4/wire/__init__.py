"""The protocol's encoding: chunks of a response, and values."""
