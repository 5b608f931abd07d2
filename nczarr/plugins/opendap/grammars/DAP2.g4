/** DDS and DAS: the texts in which DAP2 servers declare variables, and list attributes.
 *
 * Every decision needs one token of lookahead: grammar/generate.py refuses a parser that would need more. The grammar
 * is lenient: which words are types, sizes and values are questions for the front end. Keywords are names as well, in
 * any case of letters. The lexer rules are the reference; nczarr/plugins/opendap/dap2/parser.py makes the same tokens
 * faster.
 */
grammar DAP2;

// ---- DDS ---------------------------------------------------------------------------------------------------
dds               : DATASET LBRACE declaration* RBRACE name? SEMI? EOF ;

declaration       : plain | structure | sequence | grid ;

/** A variable of an atomic type. */
plain             : WORD name dimension* SEMI ;

structure         : STRUCTURE LBRACE declaration* RBRACE name dimension* SEMI ;

sequence          : SEQUENCE LBRACE declaration* RBRACE name dimension* SEMI ;

grid              : GRID LBRACE ARRAY declaration MAPS declaration* RBRACE name SEMI ;

/** `[10]` or `[lat = 10]`. */
dimension         : LBRACKET name ( EQUAL WORD )? RBRACKET ;

// ---- DAS ---------------------------------------------------------------------------------------------------
das               : ( ATTRIBUTES LBRACE entry* RBRACE )+ SEMI? EOF ;

/** A container, or an attribute: its type, name and values. */
entry             : name ( LBRACE entry* RBRACE | name ( value ( COMMA value )* )? SEMI ) ;

value             : name ;

// ---- both --------------------------------------------------------------------------------------------------
name              : WORD | TEXT | DATASET | ATTRIBUTES | STRUCTURE | SEQUENCE | GRID | ARRAY | MAPS ;

DATASET           : [Dd] [Aa] [Tt] [Aa] [Ss] [Ee] [Tt] ;
ATTRIBUTES        : [Aa] [Tt] [Tt] [Rr] [Ii] [Bb] [Uu] [Tt] [Ee] [Ss] ;
STRUCTURE         : [Ss] [Tt] [Rr] [Uu] [Cc] [Tt] [Uu] [Rr] [Ee] ;
SEQUENCE          : [Ss] [Ee] [Qq] [Uu] [Ee] [Nn] [Cc] [Ee] ;
GRID              : [Gg] [Rr] [Ii] [Dd] ;
ARRAY             : [Aa] [Rr] [Rr] [Aa] [Yy] [ \t\r\n]* ':' ;
MAPS              : [Mm] [Aa] [Pp] [Ss] [ \t\r\n]* ':' ;
LBRACE            : '{' ;
RBRACE            : '}' ;
LBRACKET          : '[' ;
RBRACKET          : ']' ;
SEMI              : ';' ;
COMMA             : ',' ;
EQUAL             : '=' ;
TEXT              : '"' ( '\\' . | ~["\\] )* '"' ;
WORD              : ~[ \t\r\n{}[\];,="#] ~[ \t\r\n{}[\];,="]* ;
BLANK             : [ \t\r\n]+ -> skip ;
COMMENT           : '#' ~[\r\n]* -> skip ;
