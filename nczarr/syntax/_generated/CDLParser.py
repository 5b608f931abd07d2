# Generated from CDLParser.g4 by ANTLR 4.13.2
# encoding: utf-8
from antlr4 import *
from io import StringIO
import sys
from nczarr.syntax.tokens import RuleContext
from typing import TextIO

def serializedATN():
    return [
        4,1,38,377,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,2,22,7,22,2,23,7,23,1,0,1,0,3,0,51,8,0,1,0,1,0,1,
        0,1,0,1,0,1,1,5,1,59,8,1,10,1,12,1,62,9,1,1,1,5,1,65,8,1,10,1,12,
        1,68,9,1,1,2,1,2,5,2,72,8,2,10,2,12,2,75,9,2,1,2,1,2,5,2,79,8,2,
        10,2,12,2,82,9,2,1,2,1,2,5,2,86,8,2,10,2,12,2,89,9,2,1,2,1,2,5,2,
        93,8,2,10,2,12,2,96,9,2,1,2,1,2,1,2,1,2,1,2,1,2,5,2,104,8,2,10,2,
        12,2,107,9,2,3,2,109,8,2,1,3,1,3,1,3,1,3,1,3,1,3,1,3,3,3,118,8,3,
        3,3,120,8,3,1,3,1,3,3,3,124,8,3,1,4,1,4,1,4,1,4,3,4,130,8,4,1,5,
        1,5,1,5,1,5,1,5,1,5,1,5,1,5,1,5,1,5,3,5,142,8,5,1,5,1,5,1,5,1,5,
        5,5,148,8,5,10,5,12,5,151,9,5,1,5,1,5,3,5,155,8,5,1,5,1,5,1,5,1,
        5,1,5,1,5,1,5,1,5,1,5,1,5,3,5,167,8,5,1,5,1,5,3,5,171,8,5,3,5,173,
        8,5,3,5,175,8,5,1,6,1,6,1,6,1,6,1,6,1,6,5,6,183,8,6,10,6,12,6,186,
        9,6,3,6,188,8,6,1,6,1,6,1,7,1,7,1,7,1,7,1,8,1,8,1,8,1,8,1,8,1,9,
        1,9,1,9,1,9,5,9,205,8,9,10,9,12,9,208,9,9,1,9,1,9,1,10,1,10,1,10,
        1,10,1,10,5,10,217,8,10,10,10,12,10,220,9,10,1,10,1,10,3,10,224,
        8,10,1,11,1,11,1,11,1,11,1,11,1,11,1,11,1,11,1,11,1,11,1,11,5,11,
        237,8,11,10,11,12,11,240,9,11,3,11,242,8,11,3,11,244,8,11,1,11,1,
        11,3,11,248,8,11,1,12,1,12,1,12,1,12,1,13,1,13,1,14,1,14,1,14,1,
        14,1,14,1,14,1,14,3,14,263,8,14,1,14,1,14,5,14,267,8,14,10,14,12,
        14,270,9,14,3,14,272,8,14,3,14,274,8,14,3,14,276,8,14,1,14,1,14,
        3,14,280,8,14,1,15,1,15,3,15,284,8,15,1,16,1,16,1,16,1,16,5,16,290,
        8,16,10,16,12,16,293,9,16,3,16,295,8,16,1,16,1,16,1,17,1,17,1,17,
        1,17,1,17,3,17,304,8,17,1,18,1,18,1,18,1,18,1,18,1,18,1,18,1,18,
        1,18,3,18,315,8,18,3,18,317,8,18,3,18,319,8,18,1,18,1,18,3,18,323,
        8,18,1,19,1,19,1,19,1,19,5,19,329,8,19,10,19,12,19,332,9,19,3,19,
        334,8,19,1,20,1,20,1,20,1,20,5,20,340,8,20,10,20,12,20,343,9,20,
        3,20,345,8,20,1,20,1,20,1,20,1,20,1,20,1,20,1,20,1,20,1,20,1,20,
        1,20,1,20,1,20,5,20,360,8,20,10,20,12,20,363,9,20,1,20,1,20,3,20,
        367,8,20,3,20,369,8,20,1,21,1,21,1,22,1,22,1,23,1,23,1,23,0,0,24,
        0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,
        46,0,4,3,0,16,16,20,25,35,35,2,0,11,19,25,26,3,0,11,12,16,16,25,
        26,1,0,17,18,422,0,48,1,0,0,0,2,60,1,0,0,0,4,108,1,0,0,0,6,123,1,
        0,0,0,8,125,1,0,0,0,10,174,1,0,0,0,12,176,1,0,0,0,14,191,1,0,0,0,
        16,195,1,0,0,0,18,200,1,0,0,0,20,211,1,0,0,0,22,247,1,0,0,0,24,249,
        1,0,0,0,26,253,1,0,0,0,28,279,1,0,0,0,30,281,1,0,0,0,32,285,1,0,
        0,0,34,303,1,0,0,0,36,322,1,0,0,0,38,333,1,0,0,0,40,368,1,0,0,0,
        42,370,1,0,0,0,44,372,1,0,0,0,46,374,1,0,0,0,48,50,5,11,0,0,49,51,
        5,5,0,0,50,49,1,0,0,0,50,51,1,0,0,0,51,52,1,0,0,0,52,53,5,27,0,0,
        53,54,3,2,1,0,54,55,5,28,0,0,55,56,5,0,0,1,56,1,1,0,0,0,57,59,3,
        6,3,0,58,57,1,0,0,0,59,62,1,0,0,0,60,58,1,0,0,0,60,61,1,0,0,0,61,
        66,1,0,0,0,62,60,1,0,0,0,63,65,3,4,2,0,64,63,1,0,0,0,65,68,1,0,0,
        0,66,64,1,0,0,0,66,67,1,0,0,0,67,3,1,0,0,0,68,66,1,0,0,0,69,73,5,
        6,0,0,70,72,3,10,5,0,71,70,1,0,0,0,72,75,1,0,0,0,73,71,1,0,0,0,73,
        74,1,0,0,0,74,109,1,0,0,0,75,73,1,0,0,0,76,80,5,7,0,0,77,79,3,22,
        11,0,78,77,1,0,0,0,79,82,1,0,0,0,80,78,1,0,0,0,80,81,1,0,0,0,81,
        109,1,0,0,0,82,80,1,0,0,0,83,87,5,8,0,0,84,86,3,28,14,0,85,84,1,
        0,0,0,86,89,1,0,0,0,87,85,1,0,0,0,87,88,1,0,0,0,88,109,1,0,0,0,89,
        87,1,0,0,0,90,94,5,9,0,0,91,93,3,36,18,0,92,91,1,0,0,0,93,96,1,0,
        0,0,94,92,1,0,0,0,94,95,1,0,0,0,95,109,1,0,0,0,96,94,1,0,0,0,97,
        98,5,10,0,0,98,99,3,42,21,0,99,100,5,27,0,0,100,101,3,2,1,0,101,
        105,5,28,0,0,102,104,3,6,3,0,103,102,1,0,0,0,104,107,1,0,0,0,105,
        103,1,0,0,0,105,106,1,0,0,0,106,109,1,0,0,0,107,105,1,0,0,0,108,
        69,1,0,0,0,108,76,1,0,0,0,108,83,1,0,0,0,108,90,1,0,0,0,108,97,1,
        0,0,0,109,5,1,0,0,0,110,124,5,2,0,0,111,120,3,8,4,0,112,117,3,44,
        22,0,113,118,3,8,4,0,114,115,3,44,22,0,115,116,3,8,4,0,116,118,1,
        0,0,0,117,113,1,0,0,0,117,114,1,0,0,0,118,120,1,0,0,0,119,111,1,
        0,0,0,119,112,1,0,0,0,120,121,1,0,0,0,121,122,5,32,0,0,122,124,1,
        0,0,0,123,110,1,0,0,0,123,119,1,0,0,0,124,7,1,0,0,0,125,126,5,31,
        0,0,126,127,3,42,21,0,127,129,5,34,0,0,128,130,3,38,19,0,129,128,
        1,0,0,0,129,130,1,0,0,0,130,9,1,0,0,0,131,175,5,2,0,0,132,133,3,
        8,4,0,133,134,5,32,0,0,134,175,1,0,0,0,135,136,5,14,0,0,136,137,
        5,29,0,0,137,138,3,26,13,0,138,139,5,30,0,0,139,141,3,42,21,0,140,
        142,5,32,0,0,141,140,1,0,0,0,141,142,1,0,0,0,142,175,1,0,0,0,143,
        144,5,15,0,0,144,145,3,42,21,0,145,149,5,27,0,0,146,148,3,18,9,0,
        147,146,1,0,0,0,148,151,1,0,0,0,149,147,1,0,0,0,149,150,1,0,0,0,
        150,152,1,0,0,0,151,149,1,0,0,0,152,154,5,28,0,0,153,155,5,32,0,
        0,154,153,1,0,0,0,154,155,1,0,0,0,155,175,1,0,0,0,156,172,3,44,22,
        0,157,158,3,8,4,0,158,159,5,32,0,0,159,173,1,0,0,0,160,161,3,44,
        22,0,161,162,3,8,4,0,162,163,5,32,0,0,163,173,1,0,0,0,164,166,3,
        12,6,0,165,167,5,32,0,0,166,165,1,0,0,0,166,167,1,0,0,0,167,173,
        1,0,0,0,168,170,3,16,8,0,169,171,5,32,0,0,170,169,1,0,0,0,170,171,
        1,0,0,0,171,173,1,0,0,0,172,157,1,0,0,0,172,160,1,0,0,0,172,164,
        1,0,0,0,172,168,1,0,0,0,173,175,1,0,0,0,174,131,1,0,0,0,174,132,
        1,0,0,0,174,135,1,0,0,0,174,143,1,0,0,0,174,156,1,0,0,0,175,11,1,
        0,0,0,176,177,5,13,0,0,177,178,3,42,21,0,178,187,5,27,0,0,179,184,
        3,14,7,0,180,181,5,33,0,0,181,183,3,14,7,0,182,180,1,0,0,0,183,186,
        1,0,0,0,184,182,1,0,0,0,184,185,1,0,0,0,185,188,1,0,0,0,186,184,
        1,0,0,0,187,179,1,0,0,0,187,188,1,0,0,0,188,189,1,0,0,0,189,190,
        5,28,0,0,190,13,1,0,0,0,191,192,3,42,21,0,192,193,5,34,0,0,193,194,
        3,26,13,0,194,15,1,0,0,0,195,196,5,29,0,0,196,197,5,35,0,0,197,198,
        5,30,0,0,198,199,3,42,21,0,199,17,1,0,0,0,200,201,3,44,22,0,201,
        206,3,20,10,0,202,203,5,33,0,0,203,205,3,20,10,0,204,202,1,0,0,0,
        205,208,1,0,0,0,206,204,1,0,0,0,206,207,1,0,0,0,207,209,1,0,0,0,
        208,206,1,0,0,0,209,210,5,32,0,0,210,19,1,0,0,0,211,223,3,42,21,
        0,212,213,5,29,0,0,213,218,3,26,13,0,214,215,5,33,0,0,215,217,3,
        26,13,0,216,214,1,0,0,0,217,220,1,0,0,0,218,216,1,0,0,0,218,219,
        1,0,0,0,219,221,1,0,0,0,220,218,1,0,0,0,221,222,5,30,0,0,222,224,
        1,0,0,0,223,212,1,0,0,0,223,224,1,0,0,0,224,21,1,0,0,0,225,248,5,
        2,0,0,226,244,3,8,4,0,227,241,3,44,22,0,228,242,3,8,4,0,229,230,
        3,44,22,0,230,231,3,8,4,0,231,242,1,0,0,0,232,233,5,34,0,0,233,238,
        3,26,13,0,234,235,5,33,0,0,235,237,3,24,12,0,236,234,1,0,0,0,237,
        240,1,0,0,0,238,236,1,0,0,0,238,239,1,0,0,0,239,242,1,0,0,0,240,
        238,1,0,0,0,241,228,1,0,0,0,241,229,1,0,0,0,241,232,1,0,0,0,242,
        244,1,0,0,0,243,226,1,0,0,0,243,227,1,0,0,0,244,245,1,0,0,0,245,
        246,5,32,0,0,246,248,1,0,0,0,247,225,1,0,0,0,247,243,1,0,0,0,248,
        23,1,0,0,0,249,250,3,42,21,0,250,251,5,34,0,0,251,252,3,26,13,0,
        252,25,1,0,0,0,253,254,7,0,0,0,254,27,1,0,0,0,255,280,5,2,0,0,256,
        276,3,8,4,0,257,273,3,44,22,0,258,274,3,8,4,0,259,271,3,44,22,0,
        260,272,3,8,4,0,261,263,3,32,16,0,262,261,1,0,0,0,262,263,1,0,0,
        0,263,268,1,0,0,0,264,265,5,33,0,0,265,267,3,30,15,0,266,264,1,0,
        0,0,267,270,1,0,0,0,268,266,1,0,0,0,268,269,1,0,0,0,269,272,1,0,
        0,0,270,268,1,0,0,0,271,260,1,0,0,0,271,262,1,0,0,0,272,274,1,0,
        0,0,273,258,1,0,0,0,273,259,1,0,0,0,274,276,1,0,0,0,275,256,1,0,
        0,0,275,257,1,0,0,0,276,277,1,0,0,0,277,278,5,32,0,0,278,280,1,0,
        0,0,279,255,1,0,0,0,279,275,1,0,0,0,280,29,1,0,0,0,281,283,3,42,
        21,0,282,284,3,32,16,0,283,282,1,0,0,0,283,284,1,0,0,0,284,31,1,
        0,0,0,285,294,5,29,0,0,286,291,3,34,17,0,287,288,5,33,0,0,288,290,
        3,34,17,0,289,287,1,0,0,0,290,293,1,0,0,0,291,289,1,0,0,0,291,292,
        1,0,0,0,292,295,1,0,0,0,293,291,1,0,0,0,294,286,1,0,0,0,294,295,
        1,0,0,0,295,296,1,0,0,0,296,297,5,30,0,0,297,33,1,0,0,0,298,304,
        3,44,22,0,299,304,5,22,0,0,300,304,5,21,0,0,301,304,5,23,0,0,302,
        304,5,35,0,0,303,298,1,0,0,0,303,299,1,0,0,0,303,300,1,0,0,0,303,
        301,1,0,0,0,303,302,1,0,0,0,304,35,1,0,0,0,305,323,5,2,0,0,306,319,
        3,8,4,0,307,316,3,44,22,0,308,317,3,8,4,0,309,310,3,44,22,0,310,
        311,3,8,4,0,311,317,1,0,0,0,312,314,5,34,0,0,313,315,3,38,19,0,314,
        313,1,0,0,0,314,315,1,0,0,0,315,317,1,0,0,0,316,308,1,0,0,0,316,
        309,1,0,0,0,316,312,1,0,0,0,317,319,1,0,0,0,318,306,1,0,0,0,318,
        307,1,0,0,0,319,320,1,0,0,0,320,321,5,32,0,0,321,323,1,0,0,0,322,
        305,1,0,0,0,322,318,1,0,0,0,323,37,1,0,0,0,324,334,5,1,0,0,325,330,
        3,40,20,0,326,327,5,33,0,0,327,329,3,40,20,0,328,326,1,0,0,0,329,
        332,1,0,0,0,330,328,1,0,0,0,330,331,1,0,0,0,331,334,1,0,0,0,332,
        330,1,0,0,0,333,324,1,0,0,0,333,325,1,0,0,0,334,39,1,0,0,0,335,344,
        5,27,0,0,336,341,3,40,20,0,337,338,5,33,0,0,338,340,3,40,20,0,339,
        337,1,0,0,0,340,343,1,0,0,0,341,339,1,0,0,0,341,342,1,0,0,0,342,
        345,1,0,0,0,343,341,1,0,0,0,344,336,1,0,0,0,344,345,1,0,0,0,345,
        346,1,0,0,0,346,369,5,28,0,0,347,369,5,22,0,0,348,369,5,21,0,0,349,
        369,5,20,0,0,350,369,5,23,0,0,351,369,5,24,0,0,352,369,5,19,0,0,
        353,369,3,46,23,0,354,366,3,44,22,0,355,356,5,29,0,0,356,361,3,40,
        20,0,357,358,5,33,0,0,358,360,3,40,20,0,359,357,1,0,0,0,360,363,
        1,0,0,0,361,359,1,0,0,0,361,362,1,0,0,0,362,364,1,0,0,0,363,361,
        1,0,0,0,364,365,5,30,0,0,365,367,1,0,0,0,366,355,1,0,0,0,366,367,
        1,0,0,0,367,369,1,0,0,0,368,335,1,0,0,0,368,347,1,0,0,0,368,348,
        1,0,0,0,368,349,1,0,0,0,368,350,1,0,0,0,368,351,1,0,0,0,368,352,
        1,0,0,0,368,353,1,0,0,0,368,354,1,0,0,0,369,41,1,0,0,0,370,371,7,
        1,0,0,371,43,1,0,0,0,372,373,7,2,0,0,373,45,1,0,0,0,374,375,7,3,
        0,0,375,47,1,0,0,0,50,50,60,66,73,80,87,94,105,108,117,119,123,129,
        141,149,154,166,170,172,174,184,187,206,218,223,238,241,243,247,
        262,268,271,273,275,279,283,291,294,303,314,316,318,322,330,333,
        341,344,361,366,368
    ]

class CDLParser ( Parser ):

    grammarFileName = "CDLParser.g4"

    atn = ATNDeserializer().deserialize(serializedATN())

    decisionsToDFA = [ DFA(ds, i) for i, ds in enumerate(atn.decisionToState) ]

    sharedContextCache = PredictionContextCache()

    literalNames = [ "<INVALID>", "<INVALID>", "<INVALID>", "'\\uFEFF'",
                     "<INVALID>", "<INVALID>", "'types:'", "'dimensions:'",
                     "'variables:'", "'data:'", "'group:'", "<INVALID>",
                     "<INVALID>", "'enum'", "'opaque'", "<INVALID>", "<INVALID>",
                     "<INVALID>", "<INVALID>", "'_'", "<INVALID>", "<INVALID>",
                     "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>",
                     "<INVALID>", "'{'", "'}'", "'('", "')'", "':'", "';'",
                     "','", "'='", "'*'" ]

    symbolicNames = [ "<INVALID>", "VALUES", "SIMPLE", "MARK", "MARGIN",
                      "DATASET_NAME", "TYPES", "DIMENSIONS", "VARIABLES",
                      "DATA", "GROUP", "NETCDF", "PRIMITIVE", "ENUM", "OPAQUE",
                      "COMPOUND", "UNLIMITED", "NIL", "SPECIAL_FLOAT", "FILL",
                      "HEX", "FLOAT", "INT", "STRING", "CHAR", "NAME", "PATH",
                      "LBRACE", "RBRACE", "LPAREN", "RPAREN", "COLON", "SEMICOLON",
                      "COMMA", "EQUALS", "STAR", "COMMENT", "SPACE", "BAD" ]

    RULE_ncdesc = 0
    RULE_body = 1
    RULE_section = 2
    RULE_attstatement = 3
    RULE_attdecl = 4
    RULE_typestatement = 5
    RULE_enumdef = 6
    RULE_enumconst = 7
    RULE_vlendef = 8
    RULE_field = 9
    RULE_fieldspec = 10
    RULE_dimstatement = 11
    RULE_dimdef = 12
    RULE_size = 13
    RULE_varstatement = 14
    RULE_varspec = 15
    RULE_shape = 16
    RULE_dimref = 17
    RULE_datastatement = 18
    RULE_datalist = 19
    RULE_dataitem = 20
    RULE_name = 21
    RULE_word = 22
    RULE_constant_word = 23

    ruleNames =  [ "ncdesc", "body", "section", "attstatement", "attdecl",
                   "typestatement", "enumdef", "enumconst", "vlendef", "field",
                   "fieldspec", "dimstatement", "dimdef", "size", "varstatement",
                   "varspec", "shape", "dimref", "datastatement", "datalist",
                   "dataitem", "name", "word", "constant_word" ]

    EOF = Token.EOF
    VALUES=1
    SIMPLE=2
    MARK=3
    MARGIN=4
    DATASET_NAME=5
    TYPES=6
    DIMENSIONS=7
    VARIABLES=8
    DATA=9
    GROUP=10
    NETCDF=11
    PRIMITIVE=12
    ENUM=13
    OPAQUE=14
    COMPOUND=15
    UNLIMITED=16
    NIL=17
    SPECIAL_FLOAT=18
    FILL=19
    HEX=20
    FLOAT=21
    INT=22
    STRING=23
    CHAR=24
    NAME=25
    PATH=26
    LBRACE=27
    RBRACE=28
    LPAREN=29
    RPAREN=30
    COLON=31
    SEMICOLON=32
    COMMA=33
    EQUALS=34
    STAR=35
    COMMENT=36
    SPACE=37
    BAD=38

    def __init__(self, input:TokenStream, output:TextIO = sys.stdout):
        super().__init__(input, output)
        self.checkVersion("4.13.2")
        self._interp = ParserATNSimulator(self, self.atn, self.decisionsToDFA, self.sharedContextCache)
        self._predicates = None


    class NcdescContext(RuleContext):
        __slots__ = ()

        def LBRACE(self):
            return self.getToken(CDLParser.LBRACE, 0)

        def body(self):
            return self.getTypedRuleContext(CDLParser.BodyContext,0)


        def RBRACE(self):
            return self.getToken(CDLParser.RBRACE, 0)

    def ncdesc(self):

        localctx = CDLParser.NcdescContext(self, self._ctx, self.state)
        self.enterRule(localctx, 0, self.RULE_ncdesc)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 48
            self.match(CDLParser.NETCDF)
            self.state = 50
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==5:
                self.state = 49
                self.match(CDLParser.DATASET_NAME)


            self.state = 52
            self.match(CDLParser.LBRACE)
            self.state = 53
            self.body()
            self.state = 54
            self.match(CDLParser.RBRACE)
            self.state = 55
            self.match(CDLParser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class BodyContext(RuleContext):
        __slots__ = ()

        def attstatement(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.AttstatementContext)
            else:
                return self.getTypedRuleContext(CDLParser.AttstatementContext,i)


        def section(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.SectionContext)
            else:
                return self.getTypedRuleContext(CDLParser.SectionContext,i)


    def body(self):

        localctx = CDLParser.BodyContext(self, self._ctx, self.state)
        self.enterRule(localctx, 2, self.RULE_body)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 60
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 2248218628) != 0):
                self.state = 57
                self.attstatement()
                self.state = 62
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 66
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 1984) != 0):
                self.state = 63
                self.section()
                self.state = 68
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SectionContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(CDLParser.NameContext,0)


        def LBRACE(self):
            return self.getToken(CDLParser.LBRACE, 0)

        def body(self):
            return self.getTypedRuleContext(CDLParser.BodyContext,0)


        def RBRACE(self):
            return self.getToken(CDLParser.RBRACE, 0)

        def attstatement(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.AttstatementContext)
            else:
                return self.getTypedRuleContext(CDLParser.AttstatementContext,i)


    def section(self):

        localctx = CDLParser.SectionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 4, self.RULE_section)
        self._la = 0 # Token type
        try:
            self.state = 108
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [6]:
                self.enterOuterAlt(localctx, 1)
                self.state = 69
                self.match(CDLParser.TYPES)
                self.state = 73
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 2248267780) != 0):
                    self.state = 70
                    self.typestatement()
                    self.state = 75
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [7]:
                self.enterOuterAlt(localctx, 2)
                self.state = 76
                self.match(CDLParser.DIMENSIONS)
                self.state = 80
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 2248218628) != 0):
                    self.state = 77
                    self.dimstatement()
                    self.state = 82
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [8]:
                self.enterOuterAlt(localctx, 3)
                self.state = 83
                self.match(CDLParser.VARIABLES)
                self.state = 87
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 2248218628) != 0):
                    self.state = 84
                    self.varstatement()
                    self.state = 89
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [9]:
                self.enterOuterAlt(localctx, 4)
                self.state = 90
                self.match(CDLParser.DATA)
                self.state = 94
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 2248218628) != 0):
                    self.state = 91
                    self.datastatement()
                    self.state = 96
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [10]:
                self.enterOuterAlt(localctx, 5)
                self.state = 97
                self.match(CDLParser.GROUP)
                self.state = 98
                self.name()
                self.state = 99
                self.match(CDLParser.LBRACE)
                self.state = 100
                self.body()
                self.state = 101
                self.match(CDLParser.RBRACE)
                self.state = 105
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 2248218628) != 0):
                    self.state = 102
                    self.attstatement()
                    self.state = 107
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class AttstatementContext(RuleContext):
        __slots__ = ()

        def SEMICOLON(self):
            return self.getToken(CDLParser.SEMICOLON, 0)

        def attdecl(self):
            return self.getTypedRuleContext(CDLParser.AttdeclContext,0)


        def word(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.WordContext)
            else:
                return self.getTypedRuleContext(CDLParser.WordContext,i)


    def attstatement(self):

        localctx = CDLParser.AttstatementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 6, self.RULE_attstatement)
        try:
            self.state = 123
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [2]:
                self.enterOuterAlt(localctx, 1)
                self.state = 110
                self.match(CDLParser.SIMPLE)
                pass
            elif token in [11, 12, 16, 25, 26, 31]:
                self.enterOuterAlt(localctx, 2)
                self.state = 119
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [31]:
                    self.state = 111
                    self.attdecl()
                    pass
                elif token in [11, 12, 16, 25, 26]:
                    self.state = 112
                    self.word()
                    self.state = 117
                    self._errHandler.sync(self)
                    token = self._input.LA(1)
                    if token in [31]:
                        self.state = 113
                        self.attdecl()
                        pass
                    elif token in [11, 12, 16, 25, 26]:
                        self.state = 114
                        self.word()
                        self.state = 115
                        self.attdecl()
                        pass
                    else:
                        raise NoViableAltException(self)

                    pass
                else:
                    raise NoViableAltException(self)

                self.state = 121
                self.match(CDLParser.SEMICOLON)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class AttdeclContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(CDLParser.NameContext,0)


        def EQUALS(self):
            return self.getToken(CDLParser.EQUALS, 0)

    def attdecl(self):

        localctx = CDLParser.AttdeclContext(self, self._ctx, self.state)
        self.enterRule(localctx, 8, self.RULE_attdecl)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 125
            self.match(CDLParser.COLON)
            self.state = 126
            self.name()
            self.state = 127
            self.match(CDLParser.EQUALS)
            self.state = 129
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 268376066) != 0):
                self.state = 128
                self.datalist()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class TypestatementContext(RuleContext):
        __slots__ = ()

        def attdecl(self):
            return self.getTypedRuleContext(CDLParser.AttdeclContext,0)


        def SEMICOLON(self):
            return self.getToken(CDLParser.SEMICOLON, 0)

        def OPAQUE(self):
            return self.getToken(CDLParser.OPAQUE, 0)

        def size(self):
            return self.getTypedRuleContext(CDLParser.SizeContext,0)


        def name(self):
            return self.getTypedRuleContext(CDLParser.NameContext,0)


        def COMPOUND(self):
            return self.getToken(CDLParser.COMPOUND, 0)

        def LBRACE(self):
            return self.getToken(CDLParser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(CDLParser.RBRACE, 0)

        def field(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.FieldContext)
            else:
                return self.getTypedRuleContext(CDLParser.FieldContext,i)


        def word(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.WordContext)
            else:
                return self.getTypedRuleContext(CDLParser.WordContext,i)


        def enumdef(self):
            return self.getTypedRuleContext(CDLParser.EnumdefContext,0)


        def vlendef(self):
            return self.getTypedRuleContext(CDLParser.VlendefContext,0)


    def typestatement(self):

        localctx = CDLParser.TypestatementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 10, self.RULE_typestatement)
        self._la = 0 # Token type
        try:
            self.state = 174
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [2]:
                self.enterOuterAlt(localctx, 1)
                self.state = 131
                self.match(CDLParser.SIMPLE)
                pass
            elif token in [31]:
                self.enterOuterAlt(localctx, 2)
                self.state = 132
                self.attdecl()
                self.state = 133
                self.match(CDLParser.SEMICOLON)
                pass
            elif token in [14]:
                self.enterOuterAlt(localctx, 3)
                self.state = 135
                self.match(CDLParser.OPAQUE)
                self.state = 136
                self.match(CDLParser.LPAREN)
                self.state = 137
                self.size()
                self.state = 138
                self.match(CDLParser.RPAREN)
                self.state = 139
                self.name()
                self.state = 141
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==32:
                    self.state = 140
                    self.match(CDLParser.SEMICOLON)


                pass
            elif token in [15]:
                self.enterOuterAlt(localctx, 4)
                self.state = 143
                self.match(CDLParser.COMPOUND)
                self.state = 144
                self.name()
                self.state = 145
                self.match(CDLParser.LBRACE)
                self.state = 149
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 100734976) != 0):
                    self.state = 146
                    self.field()
                    self.state = 151
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 152
                self.match(CDLParser.RBRACE)
                self.state = 154
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==32:
                    self.state = 153
                    self.match(CDLParser.SEMICOLON)


                pass
            elif token in [11, 12, 16, 25, 26]:
                self.enterOuterAlt(localctx, 5)
                self.state = 156
                self.word()
                self.state = 172
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [31]:
                    self.state = 157
                    self.attdecl()
                    self.state = 158
                    self.match(CDLParser.SEMICOLON)
                    pass
                elif token in [11, 12, 16, 25, 26]:
                    self.state = 160
                    self.word()
                    self.state = 161
                    self.attdecl()
                    self.state = 162
                    self.match(CDLParser.SEMICOLON)
                    pass
                elif token in [13]:
                    self.state = 164
                    self.enumdef()
                    self.state = 166
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if _la==32:
                        self.state = 165
                        self.match(CDLParser.SEMICOLON)


                    pass
                elif token in [29]:
                    self.state = 168
                    self.vlendef()
                    self.state = 170
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if _la==32:
                        self.state = 169
                        self.match(CDLParser.SEMICOLON)


                    pass
                else:
                    raise NoViableAltException(self)

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EnumdefContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(CDLParser.NameContext,0)


        def LBRACE(self):
            return self.getToken(CDLParser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(CDLParser.RBRACE, 0)

        def enumconst(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.EnumconstContext)
            else:
                return self.getTypedRuleContext(CDLParser.EnumconstContext,i)


    def enumdef(self):

        localctx = CDLParser.EnumdefContext(self, self._ctx, self.state)
        self.enterRule(localctx, 12, self.RULE_enumdef)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 176
            self.match(CDLParser.ENUM)
            self.state = 177
            self.name()
            self.state = 178
            self.match(CDLParser.LBRACE)
            self.state = 187
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 101709824) != 0):
                self.state = 179
                self.enumconst()
                self.state = 184
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==33:
                    self.state = 180
                    self.match(CDLParser.COMMA)
                    self.state = 181
                    self.enumconst()
                    self.state = 186
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)


            self.state = 189
            self.match(CDLParser.RBRACE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EnumconstContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(CDLParser.NameContext,0)


        def EQUALS(self):
            return self.getToken(CDLParser.EQUALS, 0)

        def size(self):
            return self.getTypedRuleContext(CDLParser.SizeContext,0)


    def enumconst(self):

        localctx = CDLParser.EnumconstContext(self, self._ctx, self.state)
        self.enterRule(localctx, 14, self.RULE_enumconst)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 191
            self.name()
            self.state = 192
            self.match(CDLParser.EQUALS)
            self.state = 193
            self.size()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class VlendefContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(CDLParser.NameContext,0)


    def vlendef(self):

        localctx = CDLParser.VlendefContext(self, self._ctx, self.state)
        self.enterRule(localctx, 16, self.RULE_vlendef)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 195
            self.match(CDLParser.LPAREN)
            self.state = 196
            self.match(CDLParser.STAR)
            self.state = 197
            self.match(CDLParser.RPAREN)
            self.state = 198
            self.name()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class FieldContext(RuleContext):
        __slots__ = ()

        def word(self):
            return self.getTypedRuleContext(CDLParser.WordContext,0)


        def fieldspec(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.FieldspecContext)
            else:
                return self.getTypedRuleContext(CDLParser.FieldspecContext,i)


        def SEMICOLON(self):
            return self.getToken(CDLParser.SEMICOLON, 0)

    def field(self):

        localctx = CDLParser.FieldContext(self, self._ctx, self.state)
        self.enterRule(localctx, 18, self.RULE_field)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 200
            self.word()
            self.state = 201
            self.fieldspec()
            self.state = 206
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==33:
                self.state = 202
                self.match(CDLParser.COMMA)
                self.state = 203
                self.fieldspec()
                self.state = 208
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 209
            self.match(CDLParser.SEMICOLON)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class FieldspecContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(CDLParser.NameContext,0)


        def size(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.SizeContext)
            else:
                return self.getTypedRuleContext(CDLParser.SizeContext,i)


    def fieldspec(self):

        localctx = CDLParser.FieldspecContext(self, self._ctx, self.state)
        self.enterRule(localctx, 20, self.RULE_fieldspec)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 211
            self.name()
            self.state = 223
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==29:
                self.state = 212
                self.match(CDLParser.LPAREN)
                self.state = 213
                self.size()
                self.state = 218
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==33:
                    self.state = 214
                    self.match(CDLParser.COMMA)
                    self.state = 215
                    self.size()
                    self.state = 220
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 221
                self.match(CDLParser.RPAREN)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DimstatementContext(RuleContext):
        __slots__ = ()

        def SEMICOLON(self):
            return self.getToken(CDLParser.SEMICOLON, 0)

        def attdecl(self):
            return self.getTypedRuleContext(CDLParser.AttdeclContext,0)


        def word(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.WordContext)
            else:
                return self.getTypedRuleContext(CDLParser.WordContext,i)


        def EQUALS(self):
            return self.getToken(CDLParser.EQUALS, 0)

        def size(self):
            return self.getTypedRuleContext(CDLParser.SizeContext,0)


        def dimdef(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.DimdefContext)
            else:
                return self.getTypedRuleContext(CDLParser.DimdefContext,i)


    def dimstatement(self):

        localctx = CDLParser.DimstatementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 22, self.RULE_dimstatement)
        self._la = 0 # Token type
        try:
            self.state = 247
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [2]:
                self.enterOuterAlt(localctx, 1)
                self.state = 225
                self.match(CDLParser.SIMPLE)
                pass
            elif token in [11, 12, 16, 25, 26, 31]:
                self.enterOuterAlt(localctx, 2)
                self.state = 243
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [31]:
                    self.state = 226
                    self.attdecl()
                    pass
                elif token in [11, 12, 16, 25, 26]:
                    self.state = 227
                    self.word()
                    self.state = 241
                    self._errHandler.sync(self)
                    token = self._input.LA(1)
                    if token in [31]:
                        self.state = 228
                        self.attdecl()
                        pass
                    elif token in [11, 12, 16, 25, 26]:
                        self.state = 229
                        self.word()
                        self.state = 230
                        self.attdecl()
                        pass
                    elif token in [34]:
                        self.state = 232
                        self.match(CDLParser.EQUALS)
                        self.state = 233
                        self.size()
                        self.state = 238
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)
                        while _la==33:
                            self.state = 234
                            self.match(CDLParser.COMMA)
                            self.state = 235
                            self.dimdef()
                            self.state = 240
                            self._errHandler.sync(self)
                            _la = self._input.LA(1)

                        pass
                    else:
                        raise NoViableAltException(self)

                    pass
                else:
                    raise NoViableAltException(self)

                self.state = 245
                self.match(CDLParser.SEMICOLON)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DimdefContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(CDLParser.NameContext,0)


        def EQUALS(self):
            return self.getToken(CDLParser.EQUALS, 0)

        def size(self):
            return self.getTypedRuleContext(CDLParser.SizeContext,0)


    def dimdef(self):

        localctx = CDLParser.DimdefContext(self, self._ctx, self.state)
        self.enterRule(localctx, 24, self.RULE_dimdef)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 249
            self.name()
            self.state = 250
            self.match(CDLParser.EQUALS)
            self.state = 251
            self.size()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SizeContext(RuleContext):
        __slots__ = ()

        def UNLIMITED(self):
            return self.getToken(CDLParser.UNLIMITED, 0)

        def NAME(self):
            return self.getToken(CDLParser.NAME, 0)

    def size(self):

        localctx = CDLParser.SizeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 26, self.RULE_size)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 253
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 34425864192) != 0)):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class VarstatementContext(RuleContext):
        __slots__ = ()

        def SEMICOLON(self):
            return self.getToken(CDLParser.SEMICOLON, 0)

        def attdecl(self):
            return self.getTypedRuleContext(CDLParser.AttdeclContext,0)


        def word(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.WordContext)
            else:
                return self.getTypedRuleContext(CDLParser.WordContext,i)


        def shape(self):
            return self.getTypedRuleContext(CDLParser.ShapeContext,0)


        def varspec(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.VarspecContext)
            else:
                return self.getTypedRuleContext(CDLParser.VarspecContext,i)


    def varstatement(self):

        localctx = CDLParser.VarstatementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_varstatement)
        self._la = 0 # Token type
        try:
            self.state = 279
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [2]:
                self.enterOuterAlt(localctx, 1)
                self.state = 255
                self.match(CDLParser.SIMPLE)
                pass
            elif token in [11, 12, 16, 25, 26, 31]:
                self.enterOuterAlt(localctx, 2)
                self.state = 275
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [31]:
                    self.state = 256
                    self.attdecl()
                    pass
                elif token in [11, 12, 16, 25, 26]:
                    self.state = 257
                    self.word()
                    self.state = 273
                    self._errHandler.sync(self)
                    token = self._input.LA(1)
                    if token in [31]:
                        self.state = 258
                        self.attdecl()
                        pass
                    elif token in [11, 12, 16, 25, 26]:
                        self.state = 259
                        self.word()
                        self.state = 271
                        self._errHandler.sync(self)
                        token = self._input.LA(1)
                        if token in [31]:
                            self.state = 260
                            self.attdecl()
                            pass
                        elif token in [29, 32, 33]:
                            self.state = 262
                            self._errHandler.sync(self)
                            _la = self._input.LA(1)
                            if _la==29:
                                self.state = 261
                                self.shape()


                            self.state = 268
                            self._errHandler.sync(self)
                            _la = self._input.LA(1)
                            while _la==33:
                                self.state = 264
                                self.match(CDLParser.COMMA)
                                self.state = 265
                                self.varspec()
                                self.state = 270
                                self._errHandler.sync(self)
                                _la = self._input.LA(1)

                            pass
                        else:
                            raise NoViableAltException(self)

                        pass
                    else:
                        raise NoViableAltException(self)

                    pass
                else:
                    raise NoViableAltException(self)

                self.state = 277
                self.match(CDLParser.SEMICOLON)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class VarspecContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(CDLParser.NameContext,0)


        def shape(self):
            return self.getTypedRuleContext(CDLParser.ShapeContext,0)


    def varspec(self):

        localctx = CDLParser.VarspecContext(self, self._ctx, self.state)
        self.enterRule(localctx, 30, self.RULE_varspec)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 281
            self.name()
            self.state = 283
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==29:
                self.state = 282
                self.shape()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ShapeContext(RuleContext):
        __slots__ = ()

        def dimref(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.DimrefContext)
            else:
                return self.getTypedRuleContext(CDLParser.DimrefContext,i)


    def shape(self):

        localctx = CDLParser.ShapeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 32, self.RULE_shape)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 285
            self.match(CDLParser.LPAREN)
            self.state = 294
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 34475153408) != 0):
                self.state = 286
                self.dimref()
                self.state = 291
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==33:
                    self.state = 287
                    self.match(CDLParser.COMMA)
                    self.state = 288
                    self.dimref()
                    self.state = 293
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)


            self.state = 296
            self.match(CDLParser.RPAREN)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DimrefContext(RuleContext):
        __slots__ = ()

        def word(self):
            return self.getTypedRuleContext(CDLParser.WordContext,0)


    def dimref(self):

        localctx = CDLParser.DimrefContext(self, self._ctx, self.state)
        self.enterRule(localctx, 34, self.RULE_dimref)
        try:
            self.state = 303
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [11, 12, 16, 25, 26]:
                self.enterOuterAlt(localctx, 1)
                self.state = 298
                self.word()
                pass
            elif token in [22]:
                self.enterOuterAlt(localctx, 2)
                self.state = 299
                self.match(CDLParser.INT)
                pass
            elif token in [21]:
                self.enterOuterAlt(localctx, 3)
                self.state = 300
                self.match(CDLParser.FLOAT)
                pass
            elif token in [23]:
                self.enterOuterAlt(localctx, 4)
                self.state = 301
                self.match(CDLParser.STRING)
                pass
            elif token in [35]:
                self.enterOuterAlt(localctx, 5)
                self.state = 302
                self.match(CDLParser.STAR)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DatastatementContext(RuleContext):
        __slots__ = ()

        def SEMICOLON(self):
            return self.getToken(CDLParser.SEMICOLON, 0)

        def attdecl(self):
            return self.getTypedRuleContext(CDLParser.AttdeclContext,0)


        def word(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CDLParser.WordContext)
            else:
                return self.getTypedRuleContext(CDLParser.WordContext,i)


        def EQUALS(self):
            return self.getToken(CDLParser.EQUALS, 0)

    def datastatement(self):

        localctx = CDLParser.DatastatementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 36, self.RULE_datastatement)
        self._la = 0 # Token type
        try:
            self.state = 322
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [2]:
                self.enterOuterAlt(localctx, 1)
                self.state = 305
                self.match(CDLParser.SIMPLE)
                pass
            elif token in [11, 12, 16, 25, 26, 31]:
                self.enterOuterAlt(localctx, 2)
                self.state = 318
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [31]:
                    self.state = 306
                    self.attdecl()
                    pass
                elif token in [11, 12, 16, 25, 26]:
                    self.state = 307
                    self.word()
                    self.state = 316
                    self._errHandler.sync(self)
                    token = self._input.LA(1)
                    if token in [31]:
                        self.state = 308
                        self.attdecl()
                        pass
                    elif token in [11, 12, 16, 25, 26]:
                        self.state = 309
                        self.word()
                        self.state = 310
                        self.attdecl()
                        pass
                    elif token in [34]:
                        self.state = 312
                        self.match(CDLParser.EQUALS)
                        self.state = 314
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)
                        if (((_la) & ~0x3f) == 0 and ((1 << _la) & 268376066) != 0):
                            self.state = 313
                            self.datalist()


                        pass
                    else:
                        raise NoViableAltException(self)

                    pass
                else:
                    raise NoViableAltException(self)

                self.state = 320
                self.match(CDLParser.SEMICOLON)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DatalistContext(RuleContext):
        __slots__ = ()

    def datalist(self):

        localctx = CDLParser.DatalistContext(self, self._ctx, self.state)
        self.enterRule(localctx, 38, self.RULE_datalist)
        self._la = 0 # Token type
        try:
            self.state = 333
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [1]:
                self.enterOuterAlt(localctx, 1)
                self.state = 324
                self.match(CDLParser.VALUES)
                pass
            elif token in [11, 12, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27]:
                self.enterOuterAlt(localctx, 2)
                self.state = 325
                self.dataitem()
                self.state = 330
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==33:
                    self.state = 326
                    self.match(CDLParser.COMMA)
                    self.state = 327
                    self.dataitem()
                    self.state = 332
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DataitemContext(RuleContext):
        __slots__ = ()

        def LBRACE(self):
            return self.getToken(CDLParser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(CDLParser.RBRACE, 0)

        def word(self):
            return self.getTypedRuleContext(CDLParser.WordContext,0)


    def dataitem(self):

        localctx = CDLParser.DataitemContext(self, self._ctx, self.state)
        self.enterRule(localctx, 40, self.RULE_dataitem)
        self._la = 0 # Token type
        try:
            self.state = 368
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [27]:
                self.enterOuterAlt(localctx, 1)
                self.state = 335
                self.match(CDLParser.LBRACE)
                self.state = 344
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 268376064) != 0):
                    self.state = 336
                    self.dataitem()
                    self.state = 341
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==33:
                        self.state = 337
                        self.match(CDLParser.COMMA)
                        self.state = 338
                        self.dataitem()
                        self.state = 343
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)


                self.state = 346
                self.match(CDLParser.RBRACE)
                pass
            elif token in [22]:
                self.enterOuterAlt(localctx, 2)
                self.state = 347
                self.match(CDLParser.INT)
                pass
            elif token in [21]:
                self.enterOuterAlt(localctx, 3)
                self.state = 348
                self.match(CDLParser.FLOAT)
                pass
            elif token in [20]:
                self.enterOuterAlt(localctx, 4)
                self.state = 349
                self.match(CDLParser.HEX)
                pass
            elif token in [23]:
                self.enterOuterAlt(localctx, 5)
                self.state = 350
                self.match(CDLParser.STRING)
                pass
            elif token in [24]:
                self.enterOuterAlt(localctx, 6)
                self.state = 351
                self.match(CDLParser.CHAR)
                pass
            elif token in [19]:
                self.enterOuterAlt(localctx, 7)
                self.state = 352
                self.match(CDLParser.FILL)
                pass
            elif token in [17, 18]:
                self.enterOuterAlt(localctx, 8)
                self.state = 353
                self.constant_word()
                pass
            elif token in [11, 12, 16, 25, 26]:
                self.enterOuterAlt(localctx, 9)
                self.state = 354
                self.word()
                self.state = 366
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==29:
                    self.state = 355
                    self.match(CDLParser.LPAREN)
                    self.state = 356
                    self.dataitem()
                    self.state = 361
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==33:
                        self.state = 357
                        self.match(CDLParser.COMMA)
                        self.state = 358
                        self.dataitem()
                        self.state = 363
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 364
                    self.match(CDLParser.RPAREN)


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class NameContext(RuleContext):
        __slots__ = ()

        def NAME(self):
            return self.getToken(CDLParser.NAME, 0)

        def OPAQUE(self):
            return self.getToken(CDLParser.OPAQUE, 0)

        def COMPOUND(self):
            return self.getToken(CDLParser.COMPOUND, 0)

        def UNLIMITED(self):
            return self.getToken(CDLParser.UNLIMITED, 0)

    def name(self):

        localctx = CDLParser.NameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 42, self.RULE_name)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 370
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 101709824) != 0)):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WordContext(RuleContext):
        __slots__ = ()

        def NAME(self):
            return self.getToken(CDLParser.NAME, 0)

        def UNLIMITED(self):
            return self.getToken(CDLParser.UNLIMITED, 0)

    def word(self):

        localctx = CDLParser.WordContext(self, self._ctx, self.state)
        self.enterRule(localctx, 44, self.RULE_word)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 372
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 100734976) != 0)):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class Constant_wordContext(RuleContext):
        __slots__ = ()

    def constant_word(self):

        localctx = CDLParser.Constant_wordContext(self, self._ctx, self.state)
        self.enterRule(localctx, 46, self.RULE_constant_word)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 374
            _la = self._input.LA(1)
            if not(_la==17 or _la==18):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


