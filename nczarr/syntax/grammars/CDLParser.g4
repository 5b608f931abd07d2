/** CDL, the text form of netCDF, as ncgen reads it; lenient on purpose.
 *
 * What is wrong but clear (sections out of order, a number where a dimension's name belongs, an enum without
 * constants) parses, and is then reported by name and place. Every decision needs one token of lookahead:
 * grammar/generate.py refuses a parser that would need more.
 *
 * Two token sources feed this grammar. CDLLexer.g4 is the reference, and serves every language. The fast source
 * (nczarr/formats/cdl/read/tokens.py) also makes the virtual tokens: VALUES, a whole value list as one span of the
 * source, and SIMPLE, a run of statements that regular expressions can take apart. Both give the same tree.
 */
parser grammar CDLParser;

options { tokenVocab = CDLLexer; }

ncdesc      : NETCDF DATASET_NAME? LBRACE body RBRACE EOF ;

body        : attstatement* section* ;

section     : TYPES typestatement*
            | DIMENSIONS dimstatement*
            | VARIABLES varstatement*
            | DATA datastatement*
            | GROUP name LBRACE body RBRACE attstatement*
            ;

// ---- attributes: `:a`, `x:a` (x a variable, else a type), `T x:a` --------------------------------------------
attstatement : SIMPLE | ( attdecl | word ( attdecl | word attdecl ) ) SEMICOLON ;

attdecl     : COLON name EQUALS datalist? ;

// ---- types -----------------------------------------------------------------------------------------------
typestatement
            : SIMPLE
            | attdecl SEMICOLON
            | OPAQUE LPAREN size RPAREN name SEMICOLON?
            | COMPOUND name LBRACE field* RBRACE SEMICOLON?
            | word ( attdecl SEMICOLON
                   | word attdecl SEMICOLON
                   | enumdef SEMICOLON?
                   | vlendef SEMICOLON?
                   )
            ;

enumdef     : ENUM name LBRACE ( enumconst ( COMMA enumconst )* )? RBRACE ;

enumconst   : name EQUALS size ;

vlendef     : LPAREN STAR RPAREN name ;

field       : word fieldspec ( COMMA fieldspec )* SEMICOLON ;

fieldspec   : name ( LPAREN size ( COMMA size )* RPAREN )? ;

// ---- dimensions ------------------------------------------------------------------------------------------
dimstatement : SIMPLE
            | ( attdecl
              | word ( attdecl | word attdecl | EQUALS size ( COMMA dimdef )* )
              ) SEMICOLON
            ;

dimdef      : name EQUALS size ;

size        : UNLIMITED | INT | FLOAT | HEX | STRING | CHAR | STAR | NAME ;

// ---- variables -------------------------------------------------------------------------------------------
varstatement : SIMPLE
            | ( attdecl
              | word ( attdecl | word ( attdecl | shape? ( COMMA varspec )* ) )
              ) SEMICOLON
            ;

varspec     : name shape? ;

shape       : LPAREN ( dimref ( COMMA dimref )* )? RPAREN ;

dimref      : word | INT | FLOAT | STRING | STAR ;

// ---- data ------------------------------------------------------------------------------------------------
datastatement : SIMPLE
            | ( attdecl
              | word ( attdecl | word attdecl | EQUALS datalist? )
              ) SEMICOLON
            ;

datalist    : VALUES | dataitem ( COMMA dataitem )* ;

dataitem    : LBRACE ( dataitem ( COMMA dataitem )* )? RBRACE
            | INT | FLOAT | HEX | STRING | CHAR | FILL | constant_word
            | word ( LPAREN dataitem ( COMMA dataitem )* RPAREN )?
            ;

// ---- words -----------------------------------------------------------------------------------------------
/** A name in a definition: words of the language are let through, and refused later where they confuse. */
name        : NAME | PATH | PRIMITIVE | ENUM | OPAQUE | COMPOUND | UNLIMITED | NETCDF | FILL | SPECIAL_FLOAT | NIL ;

/** A use: a type, a variable or a dimension. */
word        : NAME | PATH | PRIMITIVE | UNLIMITED | NETCDF ;

constant_word : SPECIAL_FLOAT | NIL ;
