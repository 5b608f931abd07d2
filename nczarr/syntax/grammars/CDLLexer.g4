/** Tokens of CDL: the lexer of CDLParser.g4.
 *
 * It has no code of any language, so that ANTLR makes it for all. Text goes in as code points, without invalid UTF-8.
 * What begins no token is BAD, which no rule of the parser takes.
 *
 * The text between `netcdf` and the first brace is a name as it stands, whatever it holds: two modes read it.
 */
lexer grammar CDLLexer;

tokens { VALUES, SIMPLE }

// ---- before the dataset ------------------------------------------------------------------------------------
MARK        : '\uFEFF' -> skip ;
MARGIN      : ( BLANK | REMARK )+ -> skip ;
OTHER_WORD  : KEYWORD [A-Za-z0-9_.@+-]+ -> type(BAD) ;
FIRST_WORD  : KEYWORD -> type(NETCDF), mode(HEADER) ;
NO_DATASET  : . -> type(BAD) ;

// ---- its name ----------------------------------------------------------------------------------------------
mode HEADER;

/** A section before the first brace: the dataset lacks its own. */
NO_BRACE    : ~[{\u0000]* '\n' [ \t]* ( 'types' | 'dimensions' | 'variables' | 'data' | 'group' ) ':' ~[{\u0000]*
              -> type(BAD) ;
DATASET_NAME : ~[{\u0000]+ ;
OPEN        : [{] -> type(LBRACE), mode(BODY) ;
NUL         : [\u0000] -> type(BAD) ;

// ---- what it holds (section words include their colon) -------------------------------------------------------
mode BODY;

TYPES       : 'types:' ;
DIMENSIONS  : 'dimensions:' ;
VARIABLES   : 'variables:' ;
DATA        : 'data:' ;
GROUP       : 'group:' ;

NETCDF      : KEYWORD ;
PRIMITIVE   : 'byte' | 'char' | 'short' | 'int' | 'long' | 'integer' | 'float' | 'real' | 'double'
            | 'ubyte' | 'ushort' | 'uint' | 'ulong' | 'uinteger' | 'int64' | 'uint64' | 'string' ;
ENUM        : 'enum' ;
OPAQUE      : 'opaque' ;
COMPOUND    : 'compound' | 'struct' | 'structure' ;
UNLIMITED   : 'unlimited' | 'UNLIMITED' ;
NIL         : 'NIL' | 'nil' | 'Nil' ;
SPECIAL_FLOAT
            : 'NaN' | 'nan' | 'NaNf' | 'nanf' | '-'? ( 'Infinity' | 'Infinityf' | 'Inff' )
            | 'DoubleInf' | 'FloatInf' ;
FILL        : '_' ;

HEX         : '0' [xX] [0-9a-fA-F]+ ( [sS] | [lL] [lL]? )? ;
FLOAT       : [+-]? ( [0-9]+ '.' [0-9]* | '.' [0-9]* ) ( [eE] [+-]? [0-9]+ )? [fFdDlL]?
            | [+-]? [0-9]+ [eE] [+-]? [0-9]+ [fFdDlL]? ;
INT         : [+-]? [0-9]+ [a-zA-Z_]* ;
STRING      : '"' ( '\\' ~[\u0000] | ~["\\\u0000] )* '"' ;
CHAR        : '\'' ( '\\' ~[\u0000] | ~['\\\u0000] )* '\'' ;

NAME        : START PART* ;
PATH        : '/' | ( '/' START PART* )+ ;

LBRACE : '{' ; RBRACE : '}' ; LPAREN : '(' ; RPAREN : ')' ;
COLON : ':' ; SEMICOLON : ';' ; COMMA : ',' ; EQUALS : '=' ; STAR : '*' ;

COMMENT     : REMARK -> skip ;
SPACE       : BLANK -> skip ;

/** What begins no token, and a comment that is not closed. */
BAD         : '/*' ( ~[*\u0000] | '*'+ ~[*/\u0000] )* '*'* | . ;

fragment KEYWORD : 'netcdf' | 'NETCDF' | 'netCDF' ;
fragment BLANK   : [ \t\r\n\f]+ ;
fragment REMARK  : '//' ~[\r\n\u0000]* | '/*' ( ~[*\u0000] | '*'+ ~[*/\u0000] )* '*'+ '/' ;
fragment START   : [A-Za-z_] | '\\' [ -~] | LETTER ;
fragment PART    : [A-Za-z0-9_.@+%-] | '\\' ~[\r\n\u0000] | LETTER ;

/** A character above ASCII; control characters and blanks need a backslash. */
fragment LETTER  : ~[\u0000-\u00A0\p{Z}] ;
