; Lines inside these nodes are indented.
[
  (types_section)
  (dimensions_section)
  (variables_section)
  (data_section)
  (compound_type)
] @indent.begin
"}" @indent.end @indent.branch
