"""Rules of the CF conventions: one file a section of the conformance document, and the tables that they use."""
