; What an editor may fold.
[
  (group)
  (types_section)
  (dimensions_section)
  (variables_section)
  (data_section)
  (compound_type)
  (data_declaration)
] @fold
