"""Files as services send them: compressed ones, archives, and answers that are no datasets."""
