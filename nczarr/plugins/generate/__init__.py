"""Programs and documents from a schema: `nczarr generate LANGUAGE SCHEMA -o DIR`."""
