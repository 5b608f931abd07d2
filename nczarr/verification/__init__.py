"""Whether a reference document is to be trusted: its targets, its ranges, and chunks that decode."""
