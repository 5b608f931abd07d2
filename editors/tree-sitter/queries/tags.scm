; Declarations for lists of symbols.
(dimension name: (identifier) @name) @definition.constant
(variable name: (identifier) @name) @definition.variable
(compound_type name: (identifier) @name) @definition.type
(enum_type name: (identifier) @name) @definition.type
(vlen_type name: (identifier) @name) @definition.type
(opaque_type name: (identifier) @name) @definition.type
