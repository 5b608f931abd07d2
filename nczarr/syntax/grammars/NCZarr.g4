/** The NCZarr notation: the abstract grammar of the data model specification, made readable by a parser.
 *
 * Rules above the line "extensions" carry the specification's names. What they add to its text is a keyword before
 * each declaration and braces around what a declaration holds; docs/reference/formats/notation.md lists every departure. Every
 * decision needs one token of lookahead: grammar/generate.py refuses a parser that would need more.
 *
 * The grammar is lenient: which words name a codec, which constants suit a type, which names are legal are
 * questions for the front end and the passes, whose answers teach more than a syntax error does. The lexer rules are
 * the reference; nczarr/formats/notation/tokens.py makes the same tokens faster.
 */
grammar NCZarr;

dataset           : DATASET name? ZARRVERSION kind? LBRACE declaration* RBRACE EOF ;

group             : GROUP name LBRACE declaration* RBRACE ;

declaration       : dimension | variable | attribute | group | compound | opaque | enum | vlen ;

attribute         : ATTRIBUTE name value_type constant* ;

dimension         : DIMENSION name UNLIMITED? SIZE ;

variable          : VARIABLE name type dimref* ( LBRACE property* RBRACE )? ;

dimref            : SIZE | FQN ;

type              : value_type ;

value_type        : atomic_type | typeref ;

atomic_type       : fixed_atomic_type | STRING_T ;

fixed_atomic_type : BYTE_T | UBYTE_T | SHORT_T | USHORT_T | INT_T | UINT_T | INT64_T | UINT64_T
                  | CHAR_T | FLOAT_T | DOUBLE_T ;

fixed_size_type   : atomic_type | typeref ;

compound          : COMPOUND name OFFSET? LBRACE field* RBRACE ;

field             : name fixed_size_type SIZE* OFFSET? ;

opaque            : OPAQUE name SIZE ;

// ---- extensions ------------------------------------------------------------------------------------------
/** A declared type: its name, looked up from here outwards, or its FQN. */
typeref           : NAME | FQN ;

enum              : ENUM name value_type LBRACE enumerator* RBRACE ;

enumerator        : name ( SIZE | INTEGER ) ;

vlen              : VLEN name type ;

kind              : KIND name ;

property          : attribute | fill | chunks | codec | layout | endian | quantize | element ;

fill              : FILL ( NONE | constant ) ;

chunks            : CHUNKS ( SIZE | lengths )* ;

/** Chunks that differ in length along a dimension; a run is a length and a number of chunks. */
lengths           : LBRACE ( SIZE | run )+ RBRACE ;

run               : LBRACE SIZE SIZE RBRACE ;

codec             : CODEC ( NAME | SIZE ) SIZE* ;

layout            : LAYOUT NAME ;

endian            : ENDIAN NAME ;

quantize          : QUANTIZE NAME SIZE ;

element           : ELEMENT NAME ;

constant          : SIZE | INTEGER | FLOAT | NAN | INFINITY | HEX | STRING | NIL | NAME
                  | LBRACE constant* RBRACE ;

/** Where only a name can stand, a word of the language is one. */
name              : NAME
                  | DATASET | GROUP | ATTRIBUTE | DIMENSION | VARIABLE | COMPOUND | OPAQUE | ENUM | VLEN
                  | UNLIMITED | KIND | FILL | NONE | CHUNKS | CODEC | LAYOUT | ENDIAN | QUANTIZE | ELEMENT
                  | NAN | INFINITY | NIL
                  | BYTE_T | UBYTE_T | SHORT_T | USHORT_T | INT_T | UINT_T | INT64_T | UINT64_T
                  | CHAR_T | FLOAT_T | DOUBLE_T | STRING_T ;

// ---- lexemes ---------------------------------------------------------------------------------------------
DATASET : 'dataset' ; GROUP : 'group' ; ATTRIBUTE : 'attribute' ; DIMENSION : 'dimension' ;
VARIABLE : 'variable' ; COMPOUND : 'compound' ; OPAQUE : 'opaque' ; ENUM : 'enum' ; VLEN : 'vlen' ;
UNLIMITED : 'unlimited' ; KIND : 'kind' ; FILL : 'fill' ; NONE : 'none' ; CHUNKS : 'chunks' ; CODEC : 'codec' ;
LAYOUT : 'layout' ; ENDIAN : 'endian' ; QUANTIZE : 'quantize' ; ELEMENT : 'element' ;
NAN : 'NaN' ; INFINITY : '-'? 'Infinity' ; NIL : 'NIL' ;
BYTE_T : 'byte' ; UBYTE_T : 'ubyte' ; SHORT_T : 'short' ; USHORT_T : 'ushort' ; INT_T : 'int' ; UINT_T : 'uint' ;
INT64_T : 'int64' ; UINT64_T : 'uint64' ; STRING_T : 'string' ; CHAR_T : 'char' ; FLOAT_T : 'float' ;
DOUBLE_T : 'double' ;

LBRACE : '{' ; RBRACE : '}' ;

ZARRVERSION : DIGITS '.' DIGITS '.' DIGITS ;
SIZE        : DIGITS ;
INTEGER     : [+-] DIGITS ;
FLOAT       : [+-]? ( DIGITS '.' DIGITS? | '.' DIGITS ) EXPONENT? | [+-]? DIGITS EXPONENT ;
HEX         : '0' [xX] [0-9a-fA-F]+ ;
OFFSET      : '@' DIGITS ;
STRING      : '"' ( '\\' ~[\r\n] | ~["\\\r\n] )* '"' ;

NAME        : IDSTART IDCHAR* ;
FQN         : '/' | ( '/' IDCHAR+ )+ ;

/** What begins as a number or a text and does not end as one; the front end says what is wrong with it. */
BAD_NUMBER  : [-+.@0-9] IDCHAR* ;
BAD_STRING  : '"' ( '\\' ~[\r\n] | ~["\\\r\n] )* '\\'? ;

COMMENT     : '//' ~[\r\n]* -> skip ;
SPACE       : [ \t\r\n]+ -> skip ;
BAD         : . ;

fragment DIGITS   : [0-9]+ ;
fragment EXPONENT : [eE] [+-]? DIGITS ;
fragment ESCAPE   : '\\' [!-~ ] ;
fragment IDCHAR   : [!#-.0-[\]-z|~] | [\u0080-\u{10FFFF}] | ESCAPE ;
fragment IDSTART  : [!#-*,:-?A-[\]-z|~] | [\u0080-\u{10FFFF}] | ESCAPE ;
