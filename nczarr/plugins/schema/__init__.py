"""What the compiler knows of a schema, as JSON Lines: tokens, tree, analysis, plan and keys of the target."""
