# Generated from NCZarr.g4 by ANTLR 4.13.2
# encoding: utf-8
from antlr4 import *
from io import StringIO
import sys
from nczarr.syntax.tokens import RuleContext
from typing import TextIO

def serializedATN():
    return [
        4,1,50,289,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,2,22,7,22,2,23,7,23,2,24,7,24,2,25,7,25,2,26,7,26,
        2,27,7,27,2,28,7,28,2,29,7,29,2,30,7,30,2,31,7,31,1,0,1,0,3,0,67,
        8,0,1,0,1,0,3,0,71,8,0,1,0,1,0,5,0,75,8,0,10,0,12,0,78,9,0,1,0,1,
        0,1,0,1,1,1,1,1,1,1,1,5,1,87,8,1,10,1,12,1,90,9,1,1,1,1,1,1,2,1,
        2,1,2,1,2,1,2,1,2,1,2,1,2,3,2,102,8,2,1,3,1,3,1,3,1,3,5,3,108,8,
        3,10,3,12,3,111,9,3,1,4,1,4,1,4,3,4,116,8,4,1,4,1,4,1,5,1,5,1,5,
        1,5,5,5,124,8,5,10,5,12,5,127,9,5,1,5,1,5,5,5,131,8,5,10,5,12,5,
        134,9,5,1,5,3,5,137,8,5,1,6,1,6,1,7,1,7,1,8,1,8,3,8,145,8,8,1,9,
        1,9,3,9,149,8,9,1,10,1,10,1,11,1,11,3,11,155,8,11,1,12,1,12,1,12,
        3,12,160,8,12,1,12,1,12,5,12,164,8,12,10,12,12,12,167,9,12,1,12,
        1,12,1,13,1,13,1,13,5,13,174,8,13,10,13,12,13,177,9,13,1,13,3,13,
        180,8,13,1,14,1,14,1,14,1,14,1,15,1,15,1,16,1,16,1,16,1,16,1,16,
        5,16,193,8,16,10,16,12,16,196,9,16,1,16,1,16,1,17,1,17,1,17,1,18,
        1,18,1,18,1,18,1,19,1,19,1,19,1,20,1,20,1,20,1,20,1,20,1,20,1,20,
        1,20,3,20,218,8,20,1,21,1,21,1,21,3,21,223,8,21,1,22,1,22,1,22,5,
        22,228,8,22,10,22,12,22,231,9,22,1,23,1,23,1,23,4,23,236,8,23,11,
        23,12,23,237,1,23,1,23,1,24,1,24,1,24,1,24,1,24,1,25,1,25,1,25,5,
        25,250,8,25,10,25,12,25,253,9,25,1,26,1,26,1,26,1,27,1,27,1,27,1,
        28,1,28,1,28,1,28,1,29,1,29,1,29,1,30,1,30,1,30,1,30,1,30,1,30,1,
        30,1,30,1,30,1,30,1,30,5,30,279,8,30,10,30,12,30,282,9,30,1,30,3,
        30,285,8,30,1,31,1,31,1,31,0,0,32,0,2,4,6,8,10,12,14,16,18,20,22,
        24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,60,62,0,6,
        2,0,38,38,45,45,2,0,23,30,32,34,1,0,44,45,1,0,38,39,2,0,38,38,44,
        44,2,0,1,34,44,44,303,0,64,1,0,0,0,2,82,1,0,0,0,4,101,1,0,0,0,6,
        103,1,0,0,0,8,112,1,0,0,0,10,119,1,0,0,0,12,138,1,0,0,0,14,140,1,
        0,0,0,16,144,1,0,0,0,18,148,1,0,0,0,20,150,1,0,0,0,22,154,1,0,0,
        0,24,156,1,0,0,0,26,170,1,0,0,0,28,181,1,0,0,0,30,185,1,0,0,0,32,
        187,1,0,0,0,34,199,1,0,0,0,36,202,1,0,0,0,38,206,1,0,0,0,40,217,
        1,0,0,0,42,219,1,0,0,0,44,224,1,0,0,0,46,232,1,0,0,0,48,241,1,0,
        0,0,50,246,1,0,0,0,52,254,1,0,0,0,54,257,1,0,0,0,56,260,1,0,0,0,
        58,264,1,0,0,0,60,284,1,0,0,0,62,286,1,0,0,0,64,66,5,1,0,0,65,67,
        3,62,31,0,66,65,1,0,0,0,66,67,1,0,0,0,67,68,1,0,0,0,68,70,5,37,0,
        0,69,71,3,38,19,0,70,69,1,0,0,0,70,71,1,0,0,0,71,72,1,0,0,0,72,76,
        5,35,0,0,73,75,3,4,2,0,74,73,1,0,0,0,75,78,1,0,0,0,76,74,1,0,0,0,
        76,77,1,0,0,0,77,79,1,0,0,0,78,76,1,0,0,0,79,80,5,36,0,0,80,81,5,
        0,0,1,81,1,1,0,0,0,82,83,5,2,0,0,83,84,3,62,31,0,84,88,5,35,0,0,
        85,87,3,4,2,0,86,85,1,0,0,0,87,90,1,0,0,0,88,86,1,0,0,0,88,89,1,
        0,0,0,89,91,1,0,0,0,90,88,1,0,0,0,91,92,5,36,0,0,92,3,1,0,0,0,93,
        102,3,8,4,0,94,102,3,10,5,0,95,102,3,6,3,0,96,102,3,2,1,0,97,102,
        3,24,12,0,98,102,3,28,14,0,99,102,3,32,16,0,100,102,3,36,18,0,101,
        93,1,0,0,0,101,94,1,0,0,0,101,95,1,0,0,0,101,96,1,0,0,0,101,97,1,
        0,0,0,101,98,1,0,0,0,101,99,1,0,0,0,101,100,1,0,0,0,102,5,1,0,0,
        0,103,104,5,3,0,0,104,105,3,62,31,0,105,109,3,16,8,0,106,108,3,60,
        30,0,107,106,1,0,0,0,108,111,1,0,0,0,109,107,1,0,0,0,109,110,1,0,
        0,0,110,7,1,0,0,0,111,109,1,0,0,0,112,113,5,4,0,0,113,115,3,62,31,
        0,114,116,5,10,0,0,115,114,1,0,0,0,115,116,1,0,0,0,116,117,1,0,0,
        0,117,118,5,38,0,0,118,9,1,0,0,0,119,120,5,5,0,0,120,121,3,62,31,
        0,121,125,3,14,7,0,122,124,3,12,6,0,123,122,1,0,0,0,124,127,1,0,
        0,0,125,123,1,0,0,0,125,126,1,0,0,0,126,136,1,0,0,0,127,125,1,0,
        0,0,128,132,5,35,0,0,129,131,3,40,20,0,130,129,1,0,0,0,131,134,1,
        0,0,0,132,130,1,0,0,0,132,133,1,0,0,0,133,135,1,0,0,0,134,132,1,
        0,0,0,135,137,5,36,0,0,136,128,1,0,0,0,136,137,1,0,0,0,137,11,1,
        0,0,0,138,139,7,0,0,0,139,13,1,0,0,0,140,141,3,16,8,0,141,15,1,0,
        0,0,142,145,3,18,9,0,143,145,3,30,15,0,144,142,1,0,0,0,144,143,1,
        0,0,0,145,17,1,0,0,0,146,149,3,20,10,0,147,149,5,31,0,0,148,146,
        1,0,0,0,148,147,1,0,0,0,149,19,1,0,0,0,150,151,7,1,0,0,151,21,1,
        0,0,0,152,155,3,18,9,0,153,155,3,30,15,0,154,152,1,0,0,0,154,153,
        1,0,0,0,155,23,1,0,0,0,156,157,5,6,0,0,157,159,3,62,31,0,158,160,
        5,42,0,0,159,158,1,0,0,0,159,160,1,0,0,0,160,161,1,0,0,0,161,165,
        5,35,0,0,162,164,3,26,13,0,163,162,1,0,0,0,164,167,1,0,0,0,165,163,
        1,0,0,0,165,166,1,0,0,0,166,168,1,0,0,0,167,165,1,0,0,0,168,169,
        5,36,0,0,169,25,1,0,0,0,170,171,3,62,31,0,171,175,3,22,11,0,172,
        174,5,38,0,0,173,172,1,0,0,0,174,177,1,0,0,0,175,173,1,0,0,0,175,
        176,1,0,0,0,176,179,1,0,0,0,177,175,1,0,0,0,178,180,5,42,0,0,179,
        178,1,0,0,0,179,180,1,0,0,0,180,27,1,0,0,0,181,182,5,7,0,0,182,183,
        3,62,31,0,183,184,5,38,0,0,184,29,1,0,0,0,185,186,7,2,0,0,186,31,
        1,0,0,0,187,188,5,8,0,0,188,189,3,62,31,0,189,190,3,16,8,0,190,194,
        5,35,0,0,191,193,3,34,17,0,192,191,1,0,0,0,193,196,1,0,0,0,194,192,
        1,0,0,0,194,195,1,0,0,0,195,197,1,0,0,0,196,194,1,0,0,0,197,198,
        5,36,0,0,198,33,1,0,0,0,199,200,3,62,31,0,200,201,7,3,0,0,201,35,
        1,0,0,0,202,203,5,9,0,0,203,204,3,62,31,0,204,205,3,14,7,0,205,37,
        1,0,0,0,206,207,5,11,0,0,207,208,3,62,31,0,208,39,1,0,0,0,209,218,
        3,6,3,0,210,218,3,42,21,0,211,218,3,44,22,0,212,218,3,50,25,0,213,
        218,3,52,26,0,214,218,3,54,27,0,215,218,3,56,28,0,216,218,3,58,29,
        0,217,209,1,0,0,0,217,210,1,0,0,0,217,211,1,0,0,0,217,212,1,0,0,
        0,217,213,1,0,0,0,217,214,1,0,0,0,217,215,1,0,0,0,217,216,1,0,0,
        0,218,41,1,0,0,0,219,222,5,12,0,0,220,223,5,13,0,0,221,223,3,60,
        30,0,222,220,1,0,0,0,222,221,1,0,0,0,223,43,1,0,0,0,224,229,5,14,
        0,0,225,228,5,38,0,0,226,228,3,46,23,0,227,225,1,0,0,0,227,226,1,
        0,0,0,228,231,1,0,0,0,229,227,1,0,0,0,229,230,1,0,0,0,230,45,1,0,
        0,0,231,229,1,0,0,0,232,235,5,35,0,0,233,236,5,38,0,0,234,236,3,
        48,24,0,235,233,1,0,0,0,235,234,1,0,0,0,236,237,1,0,0,0,237,235,
        1,0,0,0,237,238,1,0,0,0,238,239,1,0,0,0,239,240,5,36,0,0,240,47,
        1,0,0,0,241,242,5,35,0,0,242,243,5,38,0,0,243,244,5,38,0,0,244,245,
        5,36,0,0,245,49,1,0,0,0,246,247,5,15,0,0,247,251,7,4,0,0,248,250,
        5,38,0,0,249,248,1,0,0,0,250,253,1,0,0,0,251,249,1,0,0,0,251,252,
        1,0,0,0,252,51,1,0,0,0,253,251,1,0,0,0,254,255,5,16,0,0,255,256,
        5,44,0,0,256,53,1,0,0,0,257,258,5,17,0,0,258,259,5,44,0,0,259,55,
        1,0,0,0,260,261,5,18,0,0,261,262,5,44,0,0,262,263,5,38,0,0,263,57,
        1,0,0,0,264,265,5,19,0,0,265,266,5,44,0,0,266,59,1,0,0,0,267,285,
        5,38,0,0,268,285,5,39,0,0,269,285,5,40,0,0,270,285,5,20,0,0,271,
        285,5,21,0,0,272,285,5,41,0,0,273,285,5,43,0,0,274,285,5,22,0,0,
        275,285,5,44,0,0,276,280,5,35,0,0,277,279,3,60,30,0,278,277,1,0,
        0,0,279,282,1,0,0,0,280,278,1,0,0,0,280,281,1,0,0,0,281,283,1,0,
        0,0,282,280,1,0,0,0,283,285,5,36,0,0,284,267,1,0,0,0,284,268,1,0,
        0,0,284,269,1,0,0,0,284,270,1,0,0,0,284,271,1,0,0,0,284,272,1,0,
        0,0,284,273,1,0,0,0,284,274,1,0,0,0,284,275,1,0,0,0,284,276,1,0,
        0,0,285,61,1,0,0,0,286,287,7,5,0,0,287,63,1,0,0,0,27,66,70,76,88,
        101,109,115,125,132,136,144,148,154,159,165,175,179,194,217,222,
        227,229,235,237,251,280,284
    ]

class NCZarrParser ( Parser ):

    grammarFileName = "NCZarr.g4"

    atn = ATNDeserializer().deserialize(serializedATN())

    decisionsToDFA = [ DFA(ds, i) for i, ds in enumerate(atn.decisionToState) ]

    sharedContextCache = PredictionContextCache()

    literalNames = [ "<INVALID>", "'dataset'", "'group'", "'attribute'",
                     "'dimension'", "'variable'", "'compound'", "'opaque'",
                     "'enum'", "'vlen'", "'unlimited'", "'kind'", "'fill'",
                     "'none'", "'chunks'", "'codec'", "'layout'", "'endian'",
                     "'quantize'", "'element'", "'NaN'", "<INVALID>", "'NIL'",
                     "'byte'", "'ubyte'", "'short'", "'ushort'", "'int'",
                     "'uint'", "'int64'", "'uint64'", "'string'", "'char'",
                     "'float'", "'double'", "'{'", "'}'" ]

    symbolicNames = [ "<INVALID>", "DATASET", "GROUP", "ATTRIBUTE", "DIMENSION",
                      "VARIABLE", "COMPOUND", "OPAQUE", "ENUM", "VLEN",
                      "UNLIMITED", "KIND", "FILL", "NONE", "CHUNKS", "CODEC",
                      "LAYOUT", "ENDIAN", "QUANTIZE", "ELEMENT", "NAN",
                      "INFINITY", "NIL", "BYTE_T", "UBYTE_T", "SHORT_T",
                      "USHORT_T", "INT_T", "UINT_T", "INT64_T", "UINT64_T",
                      "STRING_T", "CHAR_T", "FLOAT_T", "DOUBLE_T", "LBRACE",
                      "RBRACE", "ZARRVERSION", "SIZE", "INTEGER", "FLOAT",
                      "HEX", "OFFSET", "STRING", "NAME", "FQN", "BAD_NUMBER",
                      "BAD_STRING", "COMMENT", "SPACE", "BAD" ]

    RULE_dataset = 0
    RULE_group = 1
    RULE_declaration = 2
    RULE_attribute = 3
    RULE_dimension = 4
    RULE_variable = 5
    RULE_dimref = 6
    RULE_type = 7
    RULE_value_type = 8
    RULE_atomic_type = 9
    RULE_fixed_atomic_type = 10
    RULE_fixed_size_type = 11
    RULE_compound = 12
    RULE_field = 13
    RULE_opaque = 14
    RULE_typeref = 15
    RULE_enum = 16
    RULE_enumerator = 17
    RULE_vlen = 18
    RULE_kind = 19
    RULE_property = 20
    RULE_fill = 21
    RULE_chunks = 22
    RULE_lengths = 23
    RULE_run = 24
    RULE_codec = 25
    RULE_layout = 26
    RULE_endian = 27
    RULE_quantize = 28
    RULE_element = 29
    RULE_constant = 30
    RULE_name = 31

    ruleNames =  [ "dataset", "group", "declaration", "attribute", "dimension",
                   "variable", "dimref", "type", "value_type", "atomic_type",
                   "fixed_atomic_type", "fixed_size_type", "compound", "field",
                   "opaque", "typeref", "enum", "enumerator", "vlen", "kind",
                   "property", "fill", "chunks", "lengths", "run", "codec",
                   "layout", "endian", "quantize", "element", "constant",
                   "name" ]

    EOF = Token.EOF
    DATASET=1
    GROUP=2
    ATTRIBUTE=3
    DIMENSION=4
    VARIABLE=5
    COMPOUND=6
    OPAQUE=7
    ENUM=8
    VLEN=9
    UNLIMITED=10
    KIND=11
    FILL=12
    NONE=13
    CHUNKS=14
    CODEC=15
    LAYOUT=16
    ENDIAN=17
    QUANTIZE=18
    ELEMENT=19
    NAN=20
    INFINITY=21
    NIL=22
    BYTE_T=23
    UBYTE_T=24
    SHORT_T=25
    USHORT_T=26
    INT_T=27
    UINT_T=28
    INT64_T=29
    UINT64_T=30
    STRING_T=31
    CHAR_T=32
    FLOAT_T=33
    DOUBLE_T=34
    LBRACE=35
    RBRACE=36
    ZARRVERSION=37
    SIZE=38
    INTEGER=39
    FLOAT=40
    HEX=41
    OFFSET=42
    STRING=43
    NAME=44
    FQN=45
    BAD_NUMBER=46
    BAD_STRING=47
    COMMENT=48
    SPACE=49
    BAD=50

    def __init__(self, input:TokenStream, output:TextIO = sys.stdout):
        super().__init__(input, output)
        self.checkVersion("4.13.2")
        self._interp = ParserATNSimulator(self, self.atn, self.decisionsToDFA, self.sharedContextCache)
        self._predicates = None


    class DatasetContext(RuleContext):
        __slots__ = ()

        def ZARRVERSION(self):
            return self.getToken(NCZarrParser.ZARRVERSION, 0)

        def LBRACE(self):
            return self.getToken(NCZarrParser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(NCZarrParser.RBRACE, 0)

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def kind(self):
            return self.getTypedRuleContext(NCZarrParser.KindContext,0)


        def declaration(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(NCZarrParser.DeclarationContext)
            else:
                return self.getTypedRuleContext(NCZarrParser.DeclarationContext,i)


    def dataset(self):

        localctx = NCZarrParser.DatasetContext(self, self._ctx, self.state)
        self.enterRule(localctx, 0, self.RULE_dataset)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 64
            self.match(NCZarrParser.DATASET)
            self.state = 66
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 17626545782782) != 0):
                self.state = 65
                self.name()


            self.state = 68
            self.match(NCZarrParser.ZARRVERSION)
            self.state = 70
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==11:
                self.state = 69
                self.kind()


            self.state = 72
            self.match(NCZarrParser.LBRACE)
            self.state = 76
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 1020) != 0):
                self.state = 73
                self.declaration()
                self.state = 78
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 79
            self.match(NCZarrParser.RBRACE)
            self.state = 80
            self.match(NCZarrParser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class GroupContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def LBRACE(self):
            return self.getToken(NCZarrParser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(NCZarrParser.RBRACE, 0)

        def declaration(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(NCZarrParser.DeclarationContext)
            else:
                return self.getTypedRuleContext(NCZarrParser.DeclarationContext,i)


    def group(self):

        localctx = NCZarrParser.GroupContext(self, self._ctx, self.state)
        self.enterRule(localctx, 2, self.RULE_group)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 82
            self.match(NCZarrParser.GROUP)
            self.state = 83
            self.name()
            self.state = 84
            self.match(NCZarrParser.LBRACE)
            self.state = 88
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 1020) != 0):
                self.state = 85
                self.declaration()
                self.state = 90
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 91
            self.match(NCZarrParser.RBRACE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DeclarationContext(RuleContext):
        __slots__ = ()

        def dimension(self):
            return self.getTypedRuleContext(NCZarrParser.DimensionContext,0)


        def variable(self):
            return self.getTypedRuleContext(NCZarrParser.VariableContext,0)


        def attribute(self):
            return self.getTypedRuleContext(NCZarrParser.AttributeContext,0)


        def group(self):
            return self.getTypedRuleContext(NCZarrParser.GroupContext,0)


        def compound(self):
            return self.getTypedRuleContext(NCZarrParser.CompoundContext,0)


        def enum(self):
            return self.getTypedRuleContext(NCZarrParser.EnumContext,0)


        def vlen(self):
            return self.getTypedRuleContext(NCZarrParser.VlenContext,0)


    def declaration(self):

        localctx = NCZarrParser.DeclarationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 4, self.RULE_declaration)
        try:
            self.state = 101
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [4]:
                self.enterOuterAlt(localctx, 1)
                self.state = 93
                self.dimension()
                pass
            elif token in [5]:
                self.enterOuterAlt(localctx, 2)
                self.state = 94
                self.variable()
                pass
            elif token in [3]:
                self.enterOuterAlt(localctx, 3)
                self.state = 95
                self.attribute()
                pass
            elif token in [2]:
                self.enterOuterAlt(localctx, 4)
                self.state = 96
                self.group()
                pass
            elif token in [6]:
                self.enterOuterAlt(localctx, 5)
                self.state = 97
                self.compound()
                pass
            elif token in [7]:
                self.enterOuterAlt(localctx, 6)
                self.state = 98
                self.opaque()
                pass
            elif token in [8]:
                self.enterOuterAlt(localctx, 7)
                self.state = 99
                self.enum()
                pass
            elif token in [9]:
                self.enterOuterAlt(localctx, 8)
                self.state = 100
                self.vlen()
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


    class AttributeContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def value_type(self):
            return self.getTypedRuleContext(NCZarrParser.Value_typeContext,0)


        def constant(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(NCZarrParser.ConstantContext)
            else:
                return self.getTypedRuleContext(NCZarrParser.ConstantContext,i)


    def attribute(self):

        localctx = NCZarrParser.AttributeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 6, self.RULE_attribute)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 103
            self.match(NCZarrParser.ATTRIBUTE)
            self.state = 104
            self.name()
            self.state = 105
            self.value_type()
            self.state = 109
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 30545814749184) != 0):
                self.state = 106
                self.constant()
                self.state = 111
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DimensionContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def SIZE(self):
            return self.getToken(NCZarrParser.SIZE, 0)

        def UNLIMITED(self):
            return self.getToken(NCZarrParser.UNLIMITED, 0)

    def dimension(self):

        localctx = NCZarrParser.DimensionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 8, self.RULE_dimension)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 112
            self.match(NCZarrParser.DIMENSION)
            self.state = 113
            self.name()
            self.state = 115
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==10:
                self.state = 114
                self.match(NCZarrParser.UNLIMITED)


            self.state = 117
            self.match(NCZarrParser.SIZE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class VariableContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def type_(self):
            return self.getTypedRuleContext(NCZarrParser.TypeContext,0)


        def dimref(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(NCZarrParser.DimrefContext)
            else:
                return self.getTypedRuleContext(NCZarrParser.DimrefContext,i)


        def LBRACE(self):
            return self.getToken(NCZarrParser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(NCZarrParser.RBRACE, 0)

    def variable(self):

        localctx = NCZarrParser.VariableContext(self, self._ctx, self.state)
        self.enterRule(localctx, 10, self.RULE_variable)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 119
            self.match(NCZarrParser.VARIABLE)
            self.state = 120
            self.name()
            self.state = 121
            self.type_()
            self.state = 125
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==38 or _la==45:
                self.state = 122
                self.dimref()
                self.state = 127
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 136
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==35:
                self.state = 128
                self.match(NCZarrParser.LBRACE)
                self.state = 132
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 1036296) != 0):
                    self.state = 129
                    self.property_()
                    self.state = 134
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 135
                self.match(NCZarrParser.RBRACE)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DimrefContext(RuleContext):
        __slots__ = ()

        def SIZE(self):
            return self.getToken(NCZarrParser.SIZE, 0)

        def FQN(self):
            return self.getToken(NCZarrParser.FQN, 0)

    def dimref(self):

        localctx = NCZarrParser.DimrefContext(self, self._ctx, self.state)
        self.enterRule(localctx, 12, self.RULE_dimref)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 138
            _la = self._input.LA(1)
            if not(_la==38 or _la==45):
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


    class TypeContext(RuleContext):
        __slots__ = ()

        def value_type(self):
            return self.getTypedRuleContext(NCZarrParser.Value_typeContext,0)


    def type_(self):

        localctx = NCZarrParser.TypeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 14, self.RULE_type)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 140
            self.value_type()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class Value_typeContext(RuleContext):
        __slots__ = ()

    def value_type(self):

        localctx = NCZarrParser.Value_typeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 16, self.RULE_value_type)
        try:
            self.state = 144
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34]:
                self.enterOuterAlt(localctx, 1)
                self.state = 142
                self.atomic_type()
                pass
            elif token in [44, 45]:
                self.enterOuterAlt(localctx, 2)
                self.state = 143
                self.typeref()
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


    class Atomic_typeContext(RuleContext):
        __slots__ = ()

    def atomic_type(self):

        localctx = NCZarrParser.Atomic_typeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 18, self.RULE_atomic_type)
        try:
            self.state = 148
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [23, 24, 25, 26, 27, 28, 29, 30, 32, 33, 34]:
                self.enterOuterAlt(localctx, 1)
                self.state = 146
                self.fixed_atomic_type()
                pass
            elif token in [31]:
                self.enterOuterAlt(localctx, 2)
                self.state = 147
                self.match(NCZarrParser.STRING_T)
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


    class Fixed_atomic_typeContext(RuleContext):
        __slots__ = ()

    def fixed_atomic_type(self):

        localctx = NCZarrParser.Fixed_atomic_typeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 20, self.RULE_fixed_atomic_type)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 150
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 32203866112) != 0)):
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


    class Fixed_size_typeContext(RuleContext):
        __slots__ = ()

    def fixed_size_type(self):

        localctx = NCZarrParser.Fixed_size_typeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 22, self.RULE_fixed_size_type)
        try:
            self.state = 154
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34]:
                self.enterOuterAlt(localctx, 1)
                self.state = 152
                self.atomic_type()
                pass
            elif token in [44, 45]:
                self.enterOuterAlt(localctx, 2)
                self.state = 153
                self.typeref()
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


    class CompoundContext(RuleContext):
        __slots__ = ()

        def COMPOUND(self):
            return self.getToken(NCZarrParser.COMPOUND, 0)

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def LBRACE(self):
            return self.getToken(NCZarrParser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(NCZarrParser.RBRACE, 0)

        def OFFSET(self):
            return self.getToken(NCZarrParser.OFFSET, 0)

        def field(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(NCZarrParser.FieldContext)
            else:
                return self.getTypedRuleContext(NCZarrParser.FieldContext,i)


    def compound(self):

        localctx = NCZarrParser.CompoundContext(self, self._ctx, self.state)
        self.enterRule(localctx, 24, self.RULE_compound)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 156
            self.match(NCZarrParser.COMPOUND)
            self.state = 157
            self.name()
            self.state = 159
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==42:
                self.state = 158
                self.match(NCZarrParser.OFFSET)


            self.state = 161
            self.match(NCZarrParser.LBRACE)
            self.state = 165
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 17626545782782) != 0):
                self.state = 162
                self.field()
                self.state = 167
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 168
            self.match(NCZarrParser.RBRACE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class FieldContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def fixed_size_type(self):
            return self.getTypedRuleContext(NCZarrParser.Fixed_size_typeContext,0)


        def SIZE(self, i:int=None):
            if i is None:
                return self.getTokens(NCZarrParser.SIZE)
            else:
                return self.getToken(NCZarrParser.SIZE, i)

        def OFFSET(self):
            return self.getToken(NCZarrParser.OFFSET, 0)

    def field(self):

        localctx = NCZarrParser.FieldContext(self, self._ctx, self.state)
        self.enterRule(localctx, 26, self.RULE_field)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 170
            self.name()
            self.state = 171
            self.fixed_size_type()
            self.state = 175
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==38:
                self.state = 172
                self.match(NCZarrParser.SIZE)
                self.state = 177
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 179
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==42:
                self.state = 178
                self.match(NCZarrParser.OFFSET)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class OpaqueContext(RuleContext):
        __slots__ = ()

        def OPAQUE(self):
            return self.getToken(NCZarrParser.OPAQUE, 0)

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def SIZE(self):
            return self.getToken(NCZarrParser.SIZE, 0)

    def opaque(self):

        localctx = NCZarrParser.OpaqueContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_opaque)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 181
            self.match(NCZarrParser.OPAQUE)
            self.state = 182
            self.name()
            self.state = 183
            self.match(NCZarrParser.SIZE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class TyperefContext(RuleContext):
        __slots__ = ()

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

        def FQN(self):
            return self.getToken(NCZarrParser.FQN, 0)

    def typeref(self):

        localctx = NCZarrParser.TyperefContext(self, self._ctx, self.state)
        self.enterRule(localctx, 30, self.RULE_typeref)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 185
            _la = self._input.LA(1)
            if not(_la==44 or _la==45):
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


    class EnumContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def value_type(self):
            return self.getTypedRuleContext(NCZarrParser.Value_typeContext,0)


        def LBRACE(self):
            return self.getToken(NCZarrParser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(NCZarrParser.RBRACE, 0)

    def enum(self):

        localctx = NCZarrParser.EnumContext(self, self._ctx, self.state)
        self.enterRule(localctx, 32, self.RULE_enum)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 187
            self.match(NCZarrParser.ENUM)
            self.state = 188
            self.name()
            self.state = 189
            self.value_type()
            self.state = 190
            self.match(NCZarrParser.LBRACE)
            self.state = 194
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 17626545782782) != 0):
                self.state = 191
                self.enumerator()
                self.state = 196
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 197
            self.match(NCZarrParser.RBRACE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EnumeratorContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def SIZE(self):
            return self.getToken(NCZarrParser.SIZE, 0)

        def INTEGER(self):
            return self.getToken(NCZarrParser.INTEGER, 0)

    def enumerator(self):

        localctx = NCZarrParser.EnumeratorContext(self, self._ctx, self.state)
        self.enterRule(localctx, 34, self.RULE_enumerator)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 199
            self.name()
            self.state = 200
            _la = self._input.LA(1)
            if not(_la==38 or _la==39):
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


    class VlenContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def type_(self):
            return self.getTypedRuleContext(NCZarrParser.TypeContext,0)


    def vlen(self):

        localctx = NCZarrParser.VlenContext(self, self._ctx, self.state)
        self.enterRule(localctx, 36, self.RULE_vlen)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 202
            self.match(NCZarrParser.VLEN)
            self.state = 203
            self.name()
            self.state = 204
            self.type_()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class KindContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


    def kind(self):

        localctx = NCZarrParser.KindContext(self, self._ctx, self.state)
        self.enterRule(localctx, 38, self.RULE_kind)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 206
            self.match(NCZarrParser.KIND)
            self.state = 207
            self.name()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PropertyContext(RuleContext):
        __slots__ = ()

        def attribute(self):
            return self.getTypedRuleContext(NCZarrParser.AttributeContext,0)


        def fill(self):
            return self.getTypedRuleContext(NCZarrParser.FillContext,0)


        def chunks(self):
            return self.getTypedRuleContext(NCZarrParser.ChunksContext,0)


        def layout(self):
            return self.getTypedRuleContext(NCZarrParser.LayoutContext,0)


        def element(self):
            return self.getTypedRuleContext(NCZarrParser.ElementContext,0)


    def property_(self):

        localctx = NCZarrParser.PropertyContext(self, self._ctx, self.state)
        self.enterRule(localctx, 40, self.RULE_property)
        try:
            self.state = 217
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [3]:
                self.enterOuterAlt(localctx, 1)
                self.state = 209
                self.attribute()
                pass
            elif token in [12]:
                self.enterOuterAlt(localctx, 2)
                self.state = 210
                self.fill()
                pass
            elif token in [14]:
                self.enterOuterAlt(localctx, 3)
                self.state = 211
                self.chunks()
                pass
            elif token in [15]:
                self.enterOuterAlt(localctx, 4)
                self.state = 212
                self.codec()
                pass
            elif token in [16]:
                self.enterOuterAlt(localctx, 5)
                self.state = 213
                self.layout()
                pass
            elif token in [17]:
                self.enterOuterAlt(localctx, 6)
                self.state = 214
                self.endian()
                pass
            elif token in [18]:
                self.enterOuterAlt(localctx, 7)
                self.state = 215
                self.quantize()
                pass
            elif token in [19]:
                self.enterOuterAlt(localctx, 8)
                self.state = 216
                self.element()
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


    class FillContext(RuleContext):
        __slots__ = ()

        def constant(self):
            return self.getTypedRuleContext(NCZarrParser.ConstantContext,0)


    def fill(self):

        localctx = NCZarrParser.FillContext(self, self._ctx, self.state)
        self.enterRule(localctx, 42, self.RULE_fill)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 219
            self.match(NCZarrParser.FILL)
            self.state = 222
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [13]:
                self.state = 220
                self.match(NCZarrParser.NONE)
                pass
            elif token in [20, 21, 22, 35, 38, 39, 40, 41, 43, 44]:
                self.state = 221
                self.constant()
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


    class ChunksContext(RuleContext):
        __slots__ = ()

        def SIZE(self, i:int=None):
            if i is None:
                return self.getTokens(NCZarrParser.SIZE)
            else:
                return self.getToken(NCZarrParser.SIZE, i)

        def lengths(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(NCZarrParser.LengthsContext)
            else:
                return self.getTypedRuleContext(NCZarrParser.LengthsContext,i)


    def chunks(self):

        localctx = NCZarrParser.ChunksContext(self, self._ctx, self.state)
        self.enterRule(localctx, 44, self.RULE_chunks)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 224
            self.match(NCZarrParser.CHUNKS)
            self.state = 229
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==35 or _la==38:
                self.state = 227
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [38]:
                    self.state = 225
                    self.match(NCZarrParser.SIZE)
                    pass
                elif token in [35]:
                    self.state = 226
                    self.lengths()
                    pass
                else:
                    raise NoViableAltException(self)

                self.state = 231
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class LengthsContext(RuleContext):
        __slots__ = ()

        def LBRACE(self):
            return self.getToken(NCZarrParser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(NCZarrParser.RBRACE, 0)

        def SIZE(self, i:int=None):
            if i is None:
                return self.getTokens(NCZarrParser.SIZE)
            else:
                return self.getToken(NCZarrParser.SIZE, i)

        def run(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(NCZarrParser.RunContext)
            else:
                return self.getTypedRuleContext(NCZarrParser.RunContext,i)


    def lengths(self):

        localctx = NCZarrParser.LengthsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 46, self.RULE_lengths)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 232
            self.match(NCZarrParser.LBRACE)
            self.state = 235
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while True:
                self.state = 235
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [38]:
                    self.state = 233
                    self.match(NCZarrParser.SIZE)
                    pass
                elif token in [35]:
                    self.state = 234
                    self.run()
                    pass
                else:
                    raise NoViableAltException(self)

                self.state = 237
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if not (_la==35 or _la==38):
                    break

            self.state = 239
            self.match(NCZarrParser.RBRACE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class RunContext(RuleContext):
        __slots__ = ()

        def LBRACE(self):
            return self.getToken(NCZarrParser.LBRACE, 0)

        def SIZE(self, i:int=None):
            if i is None:
                return self.getTokens(NCZarrParser.SIZE)
            else:
                return self.getToken(NCZarrParser.SIZE, i)

        def RBRACE(self):
            return self.getToken(NCZarrParser.RBRACE, 0)

    def run(self):

        localctx = NCZarrParser.RunContext(self, self._ctx, self.state)
        self.enterRule(localctx, 48, self.RULE_run)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 241
            self.match(NCZarrParser.LBRACE)
            self.state = 242
            self.match(NCZarrParser.SIZE)
            self.state = 243
            self.match(NCZarrParser.SIZE)
            self.state = 244
            self.match(NCZarrParser.RBRACE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CodecContext(RuleContext):
        __slots__ = ()

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

        def SIZE(self, i:int=None):
            if i is None:
                return self.getTokens(NCZarrParser.SIZE)
            else:
                return self.getToken(NCZarrParser.SIZE, i)

    def codec(self):

        localctx = NCZarrParser.CodecContext(self, self._ctx, self.state)
        self.enterRule(localctx, 50, self.RULE_codec)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 246
            self.match(NCZarrParser.CODEC)
            self.state = 247
            _la = self._input.LA(1)
            if not(_la==38 or _la==44):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
            self.state = 251
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==38:
                self.state = 248
                self.match(NCZarrParser.SIZE)
                self.state = 253
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class LayoutContext(RuleContext):
        __slots__ = ()

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

    def layout(self):

        localctx = NCZarrParser.LayoutContext(self, self._ctx, self.state)
        self.enterRule(localctx, 52, self.RULE_layout)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 254
            self.match(NCZarrParser.LAYOUT)
            self.state = 255
            self.match(NCZarrParser.NAME)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EndianContext(RuleContext):
        __slots__ = ()

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

    def endian(self):

        localctx = NCZarrParser.EndianContext(self, self._ctx, self.state)
        self.enterRule(localctx, 54, self.RULE_endian)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 257
            self.match(NCZarrParser.ENDIAN)
            self.state = 258
            self.match(NCZarrParser.NAME)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class QuantizeContext(RuleContext):
        __slots__ = ()

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

        def SIZE(self):
            return self.getToken(NCZarrParser.SIZE, 0)

    def quantize(self):

        localctx = NCZarrParser.QuantizeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 56, self.RULE_quantize)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 260
            self.match(NCZarrParser.QUANTIZE)
            self.state = 261
            self.match(NCZarrParser.NAME)
            self.state = 262
            self.match(NCZarrParser.SIZE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ElementContext(RuleContext):
        __slots__ = ()

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

    def element(self):

        localctx = NCZarrParser.ElementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 58, self.RULE_element)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 264
            self.match(NCZarrParser.ELEMENT)
            self.state = 265
            self.match(NCZarrParser.NAME)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ConstantContext(RuleContext):
        __slots__ = ()

        def SIZE(self):
            return self.getToken(NCZarrParser.SIZE, 0)

        def INTEGER(self):
            return self.getToken(NCZarrParser.INTEGER, 0)

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

        def LBRACE(self):
            return self.getToken(NCZarrParser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(NCZarrParser.RBRACE, 0)

        def constant(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(NCZarrParser.ConstantContext)
            else:
                return self.getTypedRuleContext(NCZarrParser.ConstantContext,i)


    def constant(self):

        localctx = NCZarrParser.ConstantContext(self, self._ctx, self.state)
        self.enterRule(localctx, 60, self.RULE_constant)
        self._la = 0 # Token type
        try:
            self.state = 284
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [38]:
                self.enterOuterAlt(localctx, 1)
                self.state = 267
                self.match(NCZarrParser.SIZE)
                pass
            elif token in [39]:
                self.enterOuterAlt(localctx, 2)
                self.state = 268
                self.match(NCZarrParser.INTEGER)
                pass
            elif token in [40]:
                self.enterOuterAlt(localctx, 3)
                self.state = 269
                self.match(NCZarrParser.FLOAT)
                pass
            elif token in [20]:
                self.enterOuterAlt(localctx, 4)
                self.state = 270
                self.match(NCZarrParser.NAN)
                pass
            elif token in [21]:
                self.enterOuterAlt(localctx, 5)
                self.state = 271
                self.match(NCZarrParser.INFINITY)
                pass
            elif token in [41]:
                self.enterOuterAlt(localctx, 6)
                self.state = 272
                self.match(NCZarrParser.HEX)
                pass
            elif token in [43]:
                self.enterOuterAlt(localctx, 7)
                self.state = 273
                self.match(NCZarrParser.STRING)
                pass
            elif token in [22]:
                self.enterOuterAlt(localctx, 8)
                self.state = 274
                self.match(NCZarrParser.NIL)
                pass
            elif token in [44]:
                self.enterOuterAlt(localctx, 9)
                self.state = 275
                self.match(NCZarrParser.NAME)
                pass
            elif token in [35]:
                self.enterOuterAlt(localctx, 10)
                self.state = 276
                self.match(NCZarrParser.LBRACE)
                self.state = 280
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 30545814749184) != 0):
                    self.state = 277
                    self.constant()
                    self.state = 282
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 283
                self.match(NCZarrParser.RBRACE)
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
            return self.getToken(NCZarrParser.NAME, 0)

        def COMPOUND(self):
            return self.getToken(NCZarrParser.COMPOUND, 0)

        def OPAQUE(self):
            return self.getToken(NCZarrParser.OPAQUE, 0)

        def UNLIMITED(self):
            return self.getToken(NCZarrParser.UNLIMITED, 0)

    def name(self):

        localctx = NCZarrParser.NameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 62, self.RULE_name)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 286
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 17626545782782) != 0)):
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


