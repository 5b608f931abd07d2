# Generated from CDL.g4 by ANTLR 4.13.2
# encoding: utf-8
from antlr4 import *
from io import StringIO
import sys
from nczarr.syntax.tokens import RuleContext
from typing import TextIO

def serializedATN():
    return [
        4,1,35,375,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,2,22,7,22,2,23,7,23,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,
        1,5,1,57,8,1,10,1,12,1,60,9,1,1,1,5,1,63,8,1,10,1,12,1,66,9,1,1,
        2,1,2,5,2,70,8,2,10,2,12,2,73,9,2,1,2,1,2,5,2,77,8,2,10,2,12,2,80,
        9,2,1,2,1,2,5,2,84,8,2,10,2,12,2,87,9,2,1,2,1,2,5,2,91,8,2,10,2,
        12,2,94,9,2,1,2,1,2,1,2,1,2,1,2,1,2,5,2,102,8,2,10,2,12,2,105,9,
        2,3,2,107,8,2,1,3,1,3,1,3,1,3,1,3,1,3,1,3,3,3,116,8,3,3,3,118,8,
        3,1,3,1,3,3,3,122,8,3,1,4,1,4,1,4,1,4,3,4,128,8,4,1,5,1,5,1,5,1,
        5,1,5,1,5,1,5,1,5,1,5,1,5,3,5,140,8,5,1,5,1,5,1,5,1,5,5,5,146,8,
        5,10,5,12,5,149,9,5,1,5,1,5,3,5,153,8,5,1,5,1,5,1,5,1,5,1,5,1,5,
        1,5,1,5,1,5,1,5,3,5,165,8,5,1,5,1,5,3,5,169,8,5,3,5,171,8,5,3,5,
        173,8,5,1,6,1,6,1,6,1,6,1,6,1,6,5,6,181,8,6,10,6,12,6,184,9,6,3,
        6,186,8,6,1,6,1,6,1,7,1,7,1,7,1,7,1,8,1,8,1,8,1,8,1,8,1,9,1,9,1,
        9,1,9,5,9,203,8,9,10,9,12,9,206,9,9,1,9,1,9,1,10,1,10,1,10,1,10,
        1,10,5,10,215,8,10,10,10,12,10,218,9,10,1,10,1,10,3,10,222,8,10,
        1,11,1,11,1,11,1,11,1,11,1,11,1,11,1,11,1,11,1,11,1,11,5,11,235,
        8,11,10,11,12,11,238,9,11,3,11,240,8,11,3,11,242,8,11,1,11,1,11,
        3,11,246,8,11,1,12,1,12,1,12,1,12,1,13,1,13,1,14,1,14,1,14,1,14,
        1,14,1,14,1,14,3,14,261,8,14,1,14,1,14,5,14,265,8,14,10,14,12,14,
        268,9,14,3,14,270,8,14,3,14,272,8,14,3,14,274,8,14,1,14,1,14,3,14,
        278,8,14,1,15,1,15,3,15,282,8,15,1,16,1,16,1,16,1,16,5,16,288,8,
        16,10,16,12,16,291,9,16,3,16,293,8,16,1,16,1,16,1,17,1,17,1,17,1,
        17,1,17,3,17,302,8,17,1,18,1,18,1,18,1,18,1,18,1,18,1,18,1,18,1,
        18,3,18,313,8,18,3,18,315,8,18,3,18,317,8,18,1,18,1,18,3,18,321,
        8,18,1,19,1,19,1,19,1,19,5,19,327,8,19,10,19,12,19,330,9,19,3,19,
        332,8,19,1,20,1,20,1,20,1,20,5,20,338,8,20,10,20,12,20,341,9,20,
        3,20,343,8,20,1,20,1,20,1,20,1,20,1,20,1,20,1,20,1,20,1,20,1,20,
        1,20,1,20,1,20,5,20,358,8,20,10,20,12,20,361,9,20,1,20,1,20,3,20,
        365,8,20,3,20,367,8,20,1,21,1,21,1,22,1,22,1,23,1,23,1,23,0,0,24,
        0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,
        46,0,4,3,0,11,11,15,20,30,30,2,0,6,14,20,21,3,0,6,7,11,11,20,21,
        1,0,12,13,419,0,48,1,0,0,0,2,58,1,0,0,0,4,106,1,0,0,0,6,121,1,0,
        0,0,8,123,1,0,0,0,10,172,1,0,0,0,12,174,1,0,0,0,14,189,1,0,0,0,16,
        193,1,0,0,0,18,198,1,0,0,0,20,209,1,0,0,0,22,245,1,0,0,0,24,247,
        1,0,0,0,26,251,1,0,0,0,28,277,1,0,0,0,30,279,1,0,0,0,32,283,1,0,
        0,0,34,301,1,0,0,0,36,320,1,0,0,0,38,331,1,0,0,0,40,366,1,0,0,0,
        42,368,1,0,0,0,44,370,1,0,0,0,46,372,1,0,0,0,48,49,5,6,0,0,49,50,
        5,33,0,0,50,51,5,22,0,0,51,52,3,2,1,0,52,53,5,23,0,0,53,54,5,0,0,
        1,54,1,1,0,0,0,55,57,3,6,3,0,56,55,1,0,0,0,57,60,1,0,0,0,58,56,1,
        0,0,0,58,59,1,0,0,0,59,64,1,0,0,0,60,58,1,0,0,0,61,63,3,4,2,0,62,
        61,1,0,0,0,63,66,1,0,0,0,64,62,1,0,0,0,64,65,1,0,0,0,65,3,1,0,0,
        0,66,64,1,0,0,0,67,71,5,1,0,0,68,70,3,10,5,0,69,68,1,0,0,0,70,73,
        1,0,0,0,71,69,1,0,0,0,71,72,1,0,0,0,72,107,1,0,0,0,73,71,1,0,0,0,
        74,78,5,2,0,0,75,77,3,22,11,0,76,75,1,0,0,0,77,80,1,0,0,0,78,76,
        1,0,0,0,78,79,1,0,0,0,79,107,1,0,0,0,80,78,1,0,0,0,81,85,5,3,0,0,
        82,84,3,28,14,0,83,82,1,0,0,0,84,87,1,0,0,0,85,83,1,0,0,0,85,86,
        1,0,0,0,86,107,1,0,0,0,87,85,1,0,0,0,88,92,5,4,0,0,89,91,3,36,18,
        0,90,89,1,0,0,0,91,94,1,0,0,0,92,90,1,0,0,0,92,93,1,0,0,0,93,107,
        1,0,0,0,94,92,1,0,0,0,95,96,5,5,0,0,96,97,3,42,21,0,97,98,5,22,0,
        0,98,99,3,2,1,0,99,103,5,23,0,0,100,102,3,6,3,0,101,100,1,0,0,0,
        102,105,1,0,0,0,103,101,1,0,0,0,103,104,1,0,0,0,104,107,1,0,0,0,
        105,103,1,0,0,0,106,67,1,0,0,0,106,74,1,0,0,0,106,81,1,0,0,0,106,
        88,1,0,0,0,106,95,1,0,0,0,107,5,1,0,0,0,108,122,5,35,0,0,109,118,
        3,8,4,0,110,115,3,44,22,0,111,116,3,8,4,0,112,113,3,44,22,0,113,
        114,3,8,4,0,114,116,1,0,0,0,115,111,1,0,0,0,115,112,1,0,0,0,116,
        118,1,0,0,0,117,109,1,0,0,0,117,110,1,0,0,0,118,119,1,0,0,0,119,
        120,5,27,0,0,120,122,1,0,0,0,121,108,1,0,0,0,121,117,1,0,0,0,122,
        7,1,0,0,0,123,124,5,26,0,0,124,125,3,42,21,0,125,127,5,29,0,0,126,
        128,3,38,19,0,127,126,1,0,0,0,127,128,1,0,0,0,128,9,1,0,0,0,129,
        173,5,35,0,0,130,131,3,8,4,0,131,132,5,27,0,0,132,173,1,0,0,0,133,
        134,5,9,0,0,134,135,5,24,0,0,135,136,3,26,13,0,136,137,5,25,0,0,
        137,139,3,42,21,0,138,140,5,27,0,0,139,138,1,0,0,0,139,140,1,0,0,
        0,140,173,1,0,0,0,141,142,5,10,0,0,142,143,3,42,21,0,143,147,5,22,
        0,0,144,146,3,18,9,0,145,144,1,0,0,0,146,149,1,0,0,0,147,145,1,0,
        0,0,147,148,1,0,0,0,148,150,1,0,0,0,149,147,1,0,0,0,150,152,5,23,
        0,0,151,153,5,27,0,0,152,151,1,0,0,0,152,153,1,0,0,0,153,173,1,0,
        0,0,154,170,3,44,22,0,155,156,3,8,4,0,156,157,5,27,0,0,157,171,1,
        0,0,0,158,159,3,44,22,0,159,160,3,8,4,0,160,161,5,27,0,0,161,171,
        1,0,0,0,162,164,3,12,6,0,163,165,5,27,0,0,164,163,1,0,0,0,164,165,
        1,0,0,0,165,171,1,0,0,0,166,168,3,16,8,0,167,169,5,27,0,0,168,167,
        1,0,0,0,168,169,1,0,0,0,169,171,1,0,0,0,170,155,1,0,0,0,170,158,
        1,0,0,0,170,162,1,0,0,0,170,166,1,0,0,0,171,173,1,0,0,0,172,129,
        1,0,0,0,172,130,1,0,0,0,172,133,1,0,0,0,172,141,1,0,0,0,172,154,
        1,0,0,0,173,11,1,0,0,0,174,175,5,8,0,0,175,176,3,42,21,0,176,185,
        5,22,0,0,177,182,3,14,7,0,178,179,5,28,0,0,179,181,3,14,7,0,180,
        178,1,0,0,0,181,184,1,0,0,0,182,180,1,0,0,0,182,183,1,0,0,0,183,
        186,1,0,0,0,184,182,1,0,0,0,185,177,1,0,0,0,185,186,1,0,0,0,186,
        187,1,0,0,0,187,188,5,23,0,0,188,13,1,0,0,0,189,190,3,42,21,0,190,
        191,5,29,0,0,191,192,3,26,13,0,192,15,1,0,0,0,193,194,5,24,0,0,194,
        195,5,30,0,0,195,196,5,25,0,0,196,197,3,42,21,0,197,17,1,0,0,0,198,
        199,3,44,22,0,199,204,3,20,10,0,200,201,5,28,0,0,201,203,3,20,10,
        0,202,200,1,0,0,0,203,206,1,0,0,0,204,202,1,0,0,0,204,205,1,0,0,
        0,205,207,1,0,0,0,206,204,1,0,0,0,207,208,5,27,0,0,208,19,1,0,0,
        0,209,221,3,42,21,0,210,211,5,24,0,0,211,216,3,26,13,0,212,213,5,
        28,0,0,213,215,3,26,13,0,214,212,1,0,0,0,215,218,1,0,0,0,216,214,
        1,0,0,0,216,217,1,0,0,0,217,219,1,0,0,0,218,216,1,0,0,0,219,220,
        5,25,0,0,220,222,1,0,0,0,221,210,1,0,0,0,221,222,1,0,0,0,222,21,
        1,0,0,0,223,246,5,35,0,0,224,242,3,8,4,0,225,239,3,44,22,0,226,240,
        3,8,4,0,227,228,3,44,22,0,228,229,3,8,4,0,229,240,1,0,0,0,230,231,
        5,29,0,0,231,236,3,26,13,0,232,233,5,28,0,0,233,235,3,24,12,0,234,
        232,1,0,0,0,235,238,1,0,0,0,236,234,1,0,0,0,236,237,1,0,0,0,237,
        240,1,0,0,0,238,236,1,0,0,0,239,226,1,0,0,0,239,227,1,0,0,0,239,
        230,1,0,0,0,240,242,1,0,0,0,241,224,1,0,0,0,241,225,1,0,0,0,242,
        243,1,0,0,0,243,244,5,27,0,0,244,246,1,0,0,0,245,223,1,0,0,0,245,
        241,1,0,0,0,246,23,1,0,0,0,247,248,3,42,21,0,248,249,5,29,0,0,249,
        250,3,26,13,0,250,25,1,0,0,0,251,252,7,0,0,0,252,27,1,0,0,0,253,
        278,5,35,0,0,254,274,3,8,4,0,255,271,3,44,22,0,256,272,3,8,4,0,257,
        269,3,44,22,0,258,270,3,8,4,0,259,261,3,32,16,0,260,259,1,0,0,0,
        260,261,1,0,0,0,261,266,1,0,0,0,262,263,5,28,0,0,263,265,3,30,15,
        0,264,262,1,0,0,0,265,268,1,0,0,0,266,264,1,0,0,0,266,267,1,0,0,
        0,267,270,1,0,0,0,268,266,1,0,0,0,269,258,1,0,0,0,269,260,1,0,0,
        0,270,272,1,0,0,0,271,256,1,0,0,0,271,257,1,0,0,0,272,274,1,0,0,
        0,273,254,1,0,0,0,273,255,1,0,0,0,274,275,1,0,0,0,275,276,5,27,0,
        0,276,278,1,0,0,0,277,253,1,0,0,0,277,273,1,0,0,0,278,29,1,0,0,0,
        279,281,3,42,21,0,280,282,3,32,16,0,281,280,1,0,0,0,281,282,1,0,
        0,0,282,31,1,0,0,0,283,292,5,24,0,0,284,289,3,34,17,0,285,286,5,
        28,0,0,286,288,3,34,17,0,287,285,1,0,0,0,288,291,1,0,0,0,289,287,
        1,0,0,0,289,290,1,0,0,0,290,293,1,0,0,0,291,289,1,0,0,0,292,284,
        1,0,0,0,292,293,1,0,0,0,293,294,1,0,0,0,294,295,5,25,0,0,295,33,
        1,0,0,0,296,302,3,44,22,0,297,302,5,17,0,0,298,302,5,16,0,0,299,
        302,5,18,0,0,300,302,5,30,0,0,301,296,1,0,0,0,301,297,1,0,0,0,301,
        298,1,0,0,0,301,299,1,0,0,0,301,300,1,0,0,0,302,35,1,0,0,0,303,321,
        5,35,0,0,304,317,3,8,4,0,305,314,3,44,22,0,306,315,3,8,4,0,307,308,
        3,44,22,0,308,309,3,8,4,0,309,315,1,0,0,0,310,312,5,29,0,0,311,313,
        3,38,19,0,312,311,1,0,0,0,312,313,1,0,0,0,313,315,1,0,0,0,314,306,
        1,0,0,0,314,307,1,0,0,0,314,310,1,0,0,0,315,317,1,0,0,0,316,304,
        1,0,0,0,316,305,1,0,0,0,317,318,1,0,0,0,318,319,5,27,0,0,319,321,
        1,0,0,0,320,303,1,0,0,0,320,316,1,0,0,0,321,37,1,0,0,0,322,332,5,
        34,0,0,323,328,3,40,20,0,324,325,5,28,0,0,325,327,3,40,20,0,326,
        324,1,0,0,0,327,330,1,0,0,0,328,326,1,0,0,0,328,329,1,0,0,0,329,
        332,1,0,0,0,330,328,1,0,0,0,331,322,1,0,0,0,331,323,1,0,0,0,332,
        39,1,0,0,0,333,342,5,22,0,0,334,339,3,40,20,0,335,336,5,28,0,0,336,
        338,3,40,20,0,337,335,1,0,0,0,338,341,1,0,0,0,339,337,1,0,0,0,339,
        340,1,0,0,0,340,343,1,0,0,0,341,339,1,0,0,0,342,334,1,0,0,0,342,
        343,1,0,0,0,343,344,1,0,0,0,344,367,5,23,0,0,345,367,5,17,0,0,346,
        367,5,16,0,0,347,367,5,15,0,0,348,367,5,18,0,0,349,367,5,19,0,0,
        350,367,5,14,0,0,351,367,3,46,23,0,352,364,3,44,22,0,353,354,5,24,
        0,0,354,359,3,40,20,0,355,356,5,28,0,0,356,358,3,40,20,0,357,355,
        1,0,0,0,358,361,1,0,0,0,359,357,1,0,0,0,359,360,1,0,0,0,360,362,
        1,0,0,0,361,359,1,0,0,0,362,363,5,25,0,0,363,365,1,0,0,0,364,353,
        1,0,0,0,364,365,1,0,0,0,365,367,1,0,0,0,366,333,1,0,0,0,366,345,
        1,0,0,0,366,346,1,0,0,0,366,347,1,0,0,0,366,348,1,0,0,0,366,349,
        1,0,0,0,366,350,1,0,0,0,366,351,1,0,0,0,366,352,1,0,0,0,367,41,1,
        0,0,0,368,369,7,1,0,0,369,43,1,0,0,0,370,371,7,2,0,0,371,45,1,0,
        0,0,372,373,7,3,0,0,373,47,1,0,0,0,49,58,64,71,78,85,92,103,106,
        115,117,121,127,139,147,152,164,168,170,172,182,185,204,216,221,
        236,239,241,245,260,266,269,271,273,277,281,289,292,301,312,314,
        316,320,328,331,339,342,359,364,366
    ]

class CDLParser ( Parser ):

    grammarFileName = "CDL.g4"

    atn = ATNDeserializer().deserialize(serializedATN())

    decisionsToDFA = [ DFA(ds, i) for i, ds in enumerate(atn.decisionToState) ]

    sharedContextCache = PredictionContextCache()

    literalNames = [ "<INVALID>", "'types:'", "'dimensions:'", "'variables:'",
                     "'data:'", "'group:'", "<INVALID>", "<INVALID>", "'enum'",
                     "'opaque'", "<INVALID>", "<INVALID>", "<INVALID>",
                     "<INVALID>", "'_'", "<INVALID>", "<INVALID>", "<INVALID>",
                     "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>",
                     "'{'", "'}'", "'('", "')'", "':'", "';'", "','", "'='",
                     "'*'" ]

    symbolicNames = [ "<INVALID>", "TYPES", "DIMENSIONS", "VARIABLES", "DATA",
                      "GROUP", "NETCDF", "PRIMITIVE", "ENUM", "OPAQUE",
                      "COMPOUND", "UNLIMITED", "NIL", "SPECIAL_FLOAT", "FILL",
                      "HEX", "FLOAT", "INT", "STRING", "CHAR", "NAME", "PATH",
                      "LBRACE", "RBRACE", "LPAREN", "RPAREN", "COLON", "SEMICOLON",
                      "COMMA", "EQUALS", "STAR", "COMMENT", "SPACE", "DATASET_NAME",
                      "VALUES", "SIMPLE" ]

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
    TYPES=1
    DIMENSIONS=2
    VARIABLES=3
    DATA=4
    GROUP=5
    NETCDF=6
    PRIMITIVE=7
    ENUM=8
    OPAQUE=9
    COMPOUND=10
    UNLIMITED=11
    NIL=12
    SPECIAL_FLOAT=13
    FILL=14
    HEX=15
    FLOAT=16
    INT=17
    STRING=18
    CHAR=19
    NAME=20
    PATH=21
    LBRACE=22
    RBRACE=23
    LPAREN=24
    RPAREN=25
    COLON=26
    SEMICOLON=27
    COMMA=28
    EQUALS=29
    STAR=30
    COMMENT=31
    SPACE=32
    DATASET_NAME=33
    VALUES=34
    SIMPLE=35

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
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 48
            self.match(CDLParser.NETCDF)
            self.state = 49
            self.match(CDLParser.DATASET_NAME)
            self.state = 50
            self.match(CDLParser.LBRACE)
            self.state = 51
            self.body()
            self.state = 52
            self.match(CDLParser.RBRACE)
            self.state = 53
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
            self.state = 58
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 34429995200) != 0):
                self.state = 55
                self.attstatement()
                self.state = 60
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 64
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 62) != 0):
                self.state = 61
                self.section()
                self.state = 66
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
            self.state = 106
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [1]:
                self.enterOuterAlt(localctx, 1)
                self.state = 67
                self.match(CDLParser.TYPES)
                self.state = 71
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 34429996736) != 0):
                    self.state = 68
                    self.typestatement()
                    self.state = 73
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [2]:
                self.enterOuterAlt(localctx, 2)
                self.state = 74
                self.match(CDLParser.DIMENSIONS)
                self.state = 78
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 34429995200) != 0):
                    self.state = 75
                    self.dimstatement()
                    self.state = 80
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [3]:
                self.enterOuterAlt(localctx, 3)
                self.state = 81
                self.match(CDLParser.VARIABLES)
                self.state = 85
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 34429995200) != 0):
                    self.state = 82
                    self.varstatement()
                    self.state = 87
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [4]:
                self.enterOuterAlt(localctx, 4)
                self.state = 88
                self.match(CDLParser.DATA)
                self.state = 92
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 34429995200) != 0):
                    self.state = 89
                    self.datastatement()
                    self.state = 94
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [5]:
                self.enterOuterAlt(localctx, 5)
                self.state = 95
                self.match(CDLParser.GROUP)
                self.state = 96
                self.name()
                self.state = 97
                self.match(CDLParser.LBRACE)
                self.state = 98
                self.body()
                self.state = 99
                self.match(CDLParser.RBRACE)
                self.state = 103
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 34429995200) != 0):
                    self.state = 100
                    self.attstatement()
                    self.state = 105
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
            self.state = 121
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [35]:
                self.enterOuterAlt(localctx, 1)
                self.state = 108
                self.match(CDLParser.SIMPLE)
                pass
            elif token in [6, 7, 11, 20, 21, 26]:
                self.enterOuterAlt(localctx, 2)
                self.state = 117
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [26]:
                    self.state = 109
                    self.attdecl()
                    pass
                elif token in [6, 7, 11, 20, 21]:
                    self.state = 110
                    self.word()
                    self.state = 115
                    self._errHandler.sync(self)
                    token = self._input.LA(1)
                    if token in [26]:
                        self.state = 111
                        self.attdecl()
                        pass
                    elif token in [6, 7, 11, 20, 21]:
                        self.state = 112
                        self.word()
                        self.state = 113
                        self.attdecl()
                        pass
                    else:
                        raise NoViableAltException(self)

                    pass
                else:
                    raise NoViableAltException(self)

                self.state = 119
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
            self.state = 123
            self.match(CDLParser.COLON)
            self.state = 124
            self.name()
            self.state = 125
            self.match(CDLParser.EQUALS)
            self.state = 127
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 17188255936) != 0):
                self.state = 126
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
            self.state = 172
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [35]:
                self.enterOuterAlt(localctx, 1)
                self.state = 129
                self.match(CDLParser.SIMPLE)
                pass
            elif token in [26]:
                self.enterOuterAlt(localctx, 2)
                self.state = 130
                self.attdecl()
                self.state = 131
                self.match(CDLParser.SEMICOLON)
                pass
            elif token in [9]:
                self.enterOuterAlt(localctx, 3)
                self.state = 133
                self.match(CDLParser.OPAQUE)
                self.state = 134
                self.match(CDLParser.LPAREN)
                self.state = 135
                self.size()
                self.state = 136
                self.match(CDLParser.RPAREN)
                self.state = 137
                self.name()
                self.state = 139
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==27:
                    self.state = 138
                    self.match(CDLParser.SEMICOLON)


                pass
            elif token in [10]:
                self.enterOuterAlt(localctx, 4)
                self.state = 141
                self.match(CDLParser.COMPOUND)
                self.state = 142
                self.name()
                self.state = 143
                self.match(CDLParser.LBRACE)
                self.state = 147
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 3147968) != 0):
                    self.state = 144
                    self.field()
                    self.state = 149
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 150
                self.match(CDLParser.RBRACE)
                self.state = 152
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==27:
                    self.state = 151
                    self.match(CDLParser.SEMICOLON)


                pass
            elif token in [6, 7, 11, 20, 21]:
                self.enterOuterAlt(localctx, 5)
                self.state = 154
                self.word()
                self.state = 170
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [26]:
                    self.state = 155
                    self.attdecl()
                    self.state = 156
                    self.match(CDLParser.SEMICOLON)
                    pass
                elif token in [6, 7, 11, 20, 21]:
                    self.state = 158
                    self.word()
                    self.state = 159
                    self.attdecl()
                    self.state = 160
                    self.match(CDLParser.SEMICOLON)
                    pass
                elif token in [8]:
                    self.state = 162
                    self.enumdef()
                    self.state = 164
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if _la==27:
                        self.state = 163
                        self.match(CDLParser.SEMICOLON)


                    pass
                elif token in [24]:
                    self.state = 166
                    self.vlendef()
                    self.state = 168
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if _la==27:
                        self.state = 167
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
            self.state = 174
            self.match(CDLParser.ENUM)
            self.state = 175
            self.name()
            self.state = 176
            self.match(CDLParser.LBRACE)
            self.state = 185
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 3178432) != 0):
                self.state = 177
                self.enumconst()
                self.state = 182
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==28:
                    self.state = 178
                    self.match(CDLParser.COMMA)
                    self.state = 179
                    self.enumconst()
                    self.state = 184
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)


            self.state = 187
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
            self.state = 189
            self.name()
            self.state = 190
            self.match(CDLParser.EQUALS)
            self.state = 191
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
            self.state = 193
            self.match(CDLParser.LPAREN)
            self.state = 194
            self.match(CDLParser.STAR)
            self.state = 195
            self.match(CDLParser.RPAREN)
            self.state = 196
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
            self.state = 198
            self.word()
            self.state = 199
            self.fieldspec()
            self.state = 204
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==28:
                self.state = 200
                self.match(CDLParser.COMMA)
                self.state = 201
                self.fieldspec()
                self.state = 206
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 207
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
            self.state = 209
            self.name()
            self.state = 221
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==24:
                self.state = 210
                self.match(CDLParser.LPAREN)
                self.state = 211
                self.size()
                self.state = 216
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==28:
                    self.state = 212
                    self.match(CDLParser.COMMA)
                    self.state = 213
                    self.size()
                    self.state = 218
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 219
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
            self.state = 245
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [35]:
                self.enterOuterAlt(localctx, 1)
                self.state = 223
                self.match(CDLParser.SIMPLE)
                pass
            elif token in [6, 7, 11, 20, 21, 26]:
                self.enterOuterAlt(localctx, 2)
                self.state = 241
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [26]:
                    self.state = 224
                    self.attdecl()
                    pass
                elif token in [6, 7, 11, 20, 21]:
                    self.state = 225
                    self.word()
                    self.state = 239
                    self._errHandler.sync(self)
                    token = self._input.LA(1)
                    if token in [26]:
                        self.state = 226
                        self.attdecl()
                        pass
                    elif token in [6, 7, 11, 20, 21]:
                        self.state = 227
                        self.word()
                        self.state = 228
                        self.attdecl()
                        pass
                    elif token in [29]:
                        self.state = 230
                        self.match(CDLParser.EQUALS)
                        self.state = 231
                        self.size()
                        self.state = 236
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)
                        while _la==28:
                            self.state = 232
                            self.match(CDLParser.COMMA)
                            self.state = 233
                            self.dimdef()
                            self.state = 238
                            self._errHandler.sync(self)
                            _la = self._input.LA(1)

                        pass
                    else:
                        raise NoViableAltException(self)

                    pass
                else:
                    raise NoViableAltException(self)

                self.state = 243
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
            self.state = 247
            self.name()
            self.state = 248
            self.match(CDLParser.EQUALS)
            self.state = 249
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
            self.state = 251
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 1075808256) != 0)):
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
            self.state = 277
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [35]:
                self.enterOuterAlt(localctx, 1)
                self.state = 253
                self.match(CDLParser.SIMPLE)
                pass
            elif token in [6, 7, 11, 20, 21, 26]:
                self.enterOuterAlt(localctx, 2)
                self.state = 273
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [26]:
                    self.state = 254
                    self.attdecl()
                    pass
                elif token in [6, 7, 11, 20, 21]:
                    self.state = 255
                    self.word()
                    self.state = 271
                    self._errHandler.sync(self)
                    token = self._input.LA(1)
                    if token in [26]:
                        self.state = 256
                        self.attdecl()
                        pass
                    elif token in [6, 7, 11, 20, 21]:
                        self.state = 257
                        self.word()
                        self.state = 269
                        self._errHandler.sync(self)
                        token = self._input.LA(1)
                        if token in [26]:
                            self.state = 258
                            self.attdecl()
                            pass
                        elif token in [24, 27, 28]:
                            self.state = 260
                            self._errHandler.sync(self)
                            _la = self._input.LA(1)
                            if _la==24:
                                self.state = 259
                                self.shape()


                            self.state = 266
                            self._errHandler.sync(self)
                            _la = self._input.LA(1)
                            while _la==28:
                                self.state = 262
                                self.match(CDLParser.COMMA)
                                self.state = 263
                                self.varspec()
                                self.state = 268
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

                self.state = 275
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
            self.state = 279
            self.name()
            self.state = 281
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==24:
                self.state = 280
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
            self.state = 283
            self.match(CDLParser.LPAREN)
            self.state = 292
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 1077348544) != 0):
                self.state = 284
                self.dimref()
                self.state = 289
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==28:
                    self.state = 285
                    self.match(CDLParser.COMMA)
                    self.state = 286
                    self.dimref()
                    self.state = 291
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)


            self.state = 294
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
            self.state = 301
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [6, 7, 11, 20, 21]:
                self.enterOuterAlt(localctx, 1)
                self.state = 296
                self.word()
                pass
            elif token in [17]:
                self.enterOuterAlt(localctx, 2)
                self.state = 297
                self.match(CDLParser.INT)
                pass
            elif token in [16]:
                self.enterOuterAlt(localctx, 3)
                self.state = 298
                self.match(CDLParser.FLOAT)
                pass
            elif token in [18]:
                self.enterOuterAlt(localctx, 4)
                self.state = 299
                self.match(CDLParser.STRING)
                pass
            elif token in [30]:
                self.enterOuterAlt(localctx, 5)
                self.state = 300
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
            self.state = 320
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [35]:
                self.enterOuterAlt(localctx, 1)
                self.state = 303
                self.match(CDLParser.SIMPLE)
                pass
            elif token in [6, 7, 11, 20, 21, 26]:
                self.enterOuterAlt(localctx, 2)
                self.state = 316
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [26]:
                    self.state = 304
                    self.attdecl()
                    pass
                elif token in [6, 7, 11, 20, 21]:
                    self.state = 305
                    self.word()
                    self.state = 314
                    self._errHandler.sync(self)
                    token = self._input.LA(1)
                    if token in [26]:
                        self.state = 306
                        self.attdecl()
                        pass
                    elif token in [6, 7, 11, 20, 21]:
                        self.state = 307
                        self.word()
                        self.state = 308
                        self.attdecl()
                        pass
                    elif token in [29]:
                        self.state = 310
                        self.match(CDLParser.EQUALS)
                        self.state = 312
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)
                        if (((_la) & ~0x3f) == 0 and ((1 << _la) & 17188255936) != 0):
                            self.state = 311
                            self.datalist()


                        pass
                    else:
                        raise NoViableAltException(self)

                    pass
                else:
                    raise NoViableAltException(self)

                self.state = 318
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
            self.state = 331
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [34]:
                self.enterOuterAlt(localctx, 1)
                self.state = 322
                self.match(CDLParser.VALUES)
                pass
            elif token in [6, 7, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22]:
                self.enterOuterAlt(localctx, 2)
                self.state = 323
                self.dataitem()
                self.state = 328
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==28:
                    self.state = 324
                    self.match(CDLParser.COMMA)
                    self.state = 325
                    self.dataitem()
                    self.state = 330
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
            self.state = 366
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [22]:
                self.enterOuterAlt(localctx, 1)
                self.state = 333
                self.match(CDLParser.LBRACE)
                self.state = 342
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 8386752) != 0):
                    self.state = 334
                    self.dataitem()
                    self.state = 339
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==28:
                        self.state = 335
                        self.match(CDLParser.COMMA)
                        self.state = 336
                        self.dataitem()
                        self.state = 341
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)


                self.state = 344
                self.match(CDLParser.RBRACE)
                pass
            elif token in [17]:
                self.enterOuterAlt(localctx, 2)
                self.state = 345
                self.match(CDLParser.INT)
                pass
            elif token in [16]:
                self.enterOuterAlt(localctx, 3)
                self.state = 346
                self.match(CDLParser.FLOAT)
                pass
            elif token in [15]:
                self.enterOuterAlt(localctx, 4)
                self.state = 347
                self.match(CDLParser.HEX)
                pass
            elif token in [18]:
                self.enterOuterAlt(localctx, 5)
                self.state = 348
                self.match(CDLParser.STRING)
                pass
            elif token in [19]:
                self.enterOuterAlt(localctx, 6)
                self.state = 349
                self.match(CDLParser.CHAR)
                pass
            elif token in [14]:
                self.enterOuterAlt(localctx, 7)
                self.state = 350
                self.match(CDLParser.FILL)
                pass
            elif token in [12, 13]:
                self.enterOuterAlt(localctx, 8)
                self.state = 351
                self.constant_word()
                pass
            elif token in [6, 7, 11, 20, 21]:
                self.enterOuterAlt(localctx, 9)
                self.state = 352
                self.word()
                self.state = 364
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==24:
                    self.state = 353
                    self.match(CDLParser.LPAREN)
                    self.state = 354
                    self.dataitem()
                    self.state = 359
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==28:
                        self.state = 355
                        self.match(CDLParser.COMMA)
                        self.state = 356
                        self.dataitem()
                        self.state = 361
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 362
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
            self.state = 368
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 3178432) != 0)):
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
            self.state = 370
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 3147968) != 0)):
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
            self.state = 372
            _la = self._input.LA(1)
            if not(_la==12 or _la==13):
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


