; Groups are scopes; dimensions, variables and types are declared in them.
[(dataset) (group)] @local.scope
(dimension name: (identifier) @local.definition.constant)
(variable name: (identifier) @local.definition.var)
[(enum_type) (opaque_type) (vlen_type) (compound_type)] @local.definition.type
(dimension_spec (path (identifier) @local.reference))
(data_declaration variable: (identifier) @local.reference)
