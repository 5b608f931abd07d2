; Highlights for the grammar https://github.com/jatkinson1000/tree-sitter-cdl.
; Made by tools/editors.py; do not change it by hand.

(identifier) @variable
(dataset_id) @module
"netcdf" @keyword
["types:" "dimensions:" "variables:" "data:" "group:"] @keyword
["enum" "opaque" "compound"] @keyword.type
(type) @type.builtin
(derived_type) @type
(enum_type name: (identifier) @type.definition)
(opaque_type name: (identifier) @type.definition)
(vlen_type name: (identifier) @type.definition)
(compound_type name: (identifier) @type.definition)
(fieldspec name: (identifier) @variable.member)
(enum_pair identity: (identifier) @constant)
(attribute name: (identifier) @property)
((attribute name: (identifier) @attribute.builtin)
  (#any-of? @attribute.builtin "_ChunkLengths" "_ChunkSizes" "_Codecs" "_DeflateLevel" "_Endianness" "_FillValue" "_Filter" "_Fletcher32" "_Format" "_IsNetcdf4" "_NCProperties" "_NoFill" "_QuantizeBitGroomNumberOfSignificantDigits" "_QuantizeBitRoundNumberOfSignificantBits" "_QuantizeBitRoundNumberOfSignificantDigits" "_QuantizeGranularBitRoundNumberOfSignificantDigits" "_Shuffle" "_Storage" "_SuperblockVersion"))
(nc_unlimited) @constant.builtin
(fill_value) @constant.builtin
[(integer) (byte) (const_int) (const_positive_int)] @number
(float) @number.float
(char) @character
(string) @string
(comment) @comment @spell
["(" ")" "{" "}"] @punctuation.bracket
[":" "," ";"] @punctuation.delimiter
["=" "*"] @operator
