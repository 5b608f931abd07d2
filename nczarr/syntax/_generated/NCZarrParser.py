# Generated from NCZarr.g4 by ANTLR 4.13.2
# encoding: utf-8
from antlr4 import *
from io import StringIO
import sys
if sys.version_info[1] > 5:
	from typing import TextIO
else:
	from typing.io import TextIO

def serializedATN():
    return [
        4,1,49,264,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,2,22,7,22,2,23,7,23,2,24,7,24,2,25,7,25,2,26,7,26,
        2,27,7,27,2,28,7,28,1,0,1,0,3,0,61,8,0,1,0,1,0,3,0,65,8,0,1,0,1,
        0,5,0,69,8,0,10,0,12,0,72,9,0,1,0,1,0,1,0,1,1,1,1,1,1,1,1,5,1,81,
        8,1,10,1,12,1,84,9,1,1,1,1,1,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,3,2,
        96,8,2,1,3,1,3,1,3,1,3,5,3,102,8,3,10,3,12,3,105,9,3,1,4,1,4,1,4,
        3,4,110,8,4,1,4,1,4,1,5,1,5,1,5,1,5,5,5,118,8,5,10,5,12,5,121,9,
        5,1,5,1,5,5,5,125,8,5,10,5,12,5,128,9,5,1,5,3,5,131,8,5,1,6,1,6,
        1,7,1,7,1,8,1,8,3,8,139,8,8,1,9,1,9,3,9,143,8,9,1,10,1,10,1,11,1,
        11,3,11,149,8,11,1,12,1,12,1,12,3,12,154,8,12,1,12,1,12,5,12,158,
        8,12,10,12,12,12,161,9,12,1,12,1,12,1,13,1,13,1,13,5,13,168,8,13,
        10,13,12,13,171,9,13,1,13,3,13,174,8,13,1,14,1,14,1,14,1,14,1,15,
        1,15,1,16,1,16,1,16,1,16,1,16,5,16,187,8,16,10,16,12,16,190,9,16,
        1,16,1,16,1,17,1,17,1,17,1,18,1,18,1,18,1,18,1,19,1,19,1,19,1,20,
        1,20,1,20,1,20,1,20,1,20,1,20,3,20,211,8,20,1,21,1,21,1,21,3,21,
        216,8,21,1,22,1,22,5,22,220,8,22,10,22,12,22,223,9,22,1,23,1,23,
        1,23,5,23,228,8,23,10,23,12,23,231,9,23,1,24,1,24,1,24,1,25,1,25,
        1,25,1,26,1,26,1,26,1,26,1,27,1,27,1,27,1,27,1,27,1,27,1,27,1,27,
        1,27,1,27,1,27,5,27,254,8,27,10,27,12,27,257,9,27,1,27,3,27,260,
        8,27,1,28,1,28,1,28,0,0,29,0,2,4,6,8,10,12,14,16,18,20,22,24,26,
        28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,0,6,2,0,37,37,44,44,
        2,0,22,29,31,33,1,0,43,44,1,0,37,38,2,0,37,37,43,43,2,0,1,33,43,
        43,277,0,58,1,0,0,0,2,76,1,0,0,0,4,95,1,0,0,0,6,97,1,0,0,0,8,106,
        1,0,0,0,10,113,1,0,0,0,12,132,1,0,0,0,14,134,1,0,0,0,16,138,1,0,
        0,0,18,142,1,0,0,0,20,144,1,0,0,0,22,148,1,0,0,0,24,150,1,0,0,0,
        26,164,1,0,0,0,28,175,1,0,0,0,30,179,1,0,0,0,32,181,1,0,0,0,34,193,
        1,0,0,0,36,196,1,0,0,0,38,200,1,0,0,0,40,210,1,0,0,0,42,212,1,0,
        0,0,44,217,1,0,0,0,46,224,1,0,0,0,48,232,1,0,0,0,50,235,1,0,0,0,
        52,238,1,0,0,0,54,259,1,0,0,0,56,261,1,0,0,0,58,60,5,1,0,0,59,61,
        3,56,28,0,60,59,1,0,0,0,60,61,1,0,0,0,61,62,1,0,0,0,62,64,5,36,0,
        0,63,65,3,38,19,0,64,63,1,0,0,0,64,65,1,0,0,0,65,66,1,0,0,0,66,70,
        5,34,0,0,67,69,3,4,2,0,68,67,1,0,0,0,69,72,1,0,0,0,70,68,1,0,0,0,
        70,71,1,0,0,0,71,73,1,0,0,0,72,70,1,0,0,0,73,74,5,35,0,0,74,75,5,
        0,0,1,75,1,1,0,0,0,76,77,5,2,0,0,77,78,3,56,28,0,78,82,5,34,0,0,
        79,81,3,4,2,0,80,79,1,0,0,0,81,84,1,0,0,0,82,80,1,0,0,0,82,83,1,
        0,0,0,83,85,1,0,0,0,84,82,1,0,0,0,85,86,5,35,0,0,86,3,1,0,0,0,87,
        96,3,8,4,0,88,96,3,10,5,0,89,96,3,6,3,0,90,96,3,2,1,0,91,96,3,24,
        12,0,92,96,3,28,14,0,93,96,3,32,16,0,94,96,3,36,18,0,95,87,1,0,0,
        0,95,88,1,0,0,0,95,89,1,0,0,0,95,90,1,0,0,0,95,91,1,0,0,0,95,92,
        1,0,0,0,95,93,1,0,0,0,95,94,1,0,0,0,96,5,1,0,0,0,97,98,5,3,0,0,98,
        99,3,56,28,0,99,103,3,16,8,0,100,102,3,54,27,0,101,100,1,0,0,0,102,
        105,1,0,0,0,103,101,1,0,0,0,103,104,1,0,0,0,104,7,1,0,0,0,105,103,
        1,0,0,0,106,107,5,4,0,0,107,109,3,56,28,0,108,110,5,10,0,0,109,108,
        1,0,0,0,109,110,1,0,0,0,110,111,1,0,0,0,111,112,5,37,0,0,112,9,1,
        0,0,0,113,114,5,5,0,0,114,115,3,56,28,0,115,119,3,14,7,0,116,118,
        3,12,6,0,117,116,1,0,0,0,118,121,1,0,0,0,119,117,1,0,0,0,119,120,
        1,0,0,0,120,130,1,0,0,0,121,119,1,0,0,0,122,126,5,34,0,0,123,125,
        3,40,20,0,124,123,1,0,0,0,125,128,1,0,0,0,126,124,1,0,0,0,126,127,
        1,0,0,0,127,129,1,0,0,0,128,126,1,0,0,0,129,131,5,35,0,0,130,122,
        1,0,0,0,130,131,1,0,0,0,131,11,1,0,0,0,132,133,7,0,0,0,133,13,1,
        0,0,0,134,135,3,16,8,0,135,15,1,0,0,0,136,139,3,18,9,0,137,139,3,
        30,15,0,138,136,1,0,0,0,138,137,1,0,0,0,139,17,1,0,0,0,140,143,3,
        20,10,0,141,143,5,30,0,0,142,140,1,0,0,0,142,141,1,0,0,0,143,19,
        1,0,0,0,144,145,7,1,0,0,145,21,1,0,0,0,146,149,3,18,9,0,147,149,
        3,30,15,0,148,146,1,0,0,0,148,147,1,0,0,0,149,23,1,0,0,0,150,151,
        5,6,0,0,151,153,3,56,28,0,152,154,5,41,0,0,153,152,1,0,0,0,153,154,
        1,0,0,0,154,155,1,0,0,0,155,159,5,34,0,0,156,158,3,26,13,0,157,156,
        1,0,0,0,158,161,1,0,0,0,159,157,1,0,0,0,159,160,1,0,0,0,160,162,
        1,0,0,0,161,159,1,0,0,0,162,163,5,35,0,0,163,25,1,0,0,0,164,165,
        3,56,28,0,165,169,3,22,11,0,166,168,5,37,0,0,167,166,1,0,0,0,168,
        171,1,0,0,0,169,167,1,0,0,0,169,170,1,0,0,0,170,173,1,0,0,0,171,
        169,1,0,0,0,172,174,5,41,0,0,173,172,1,0,0,0,173,174,1,0,0,0,174,
        27,1,0,0,0,175,176,5,7,0,0,176,177,3,56,28,0,177,178,5,37,0,0,178,
        29,1,0,0,0,179,180,7,2,0,0,180,31,1,0,0,0,181,182,5,8,0,0,182,183,
        3,56,28,0,183,184,3,16,8,0,184,188,5,34,0,0,185,187,3,34,17,0,186,
        185,1,0,0,0,187,190,1,0,0,0,188,186,1,0,0,0,188,189,1,0,0,0,189,
        191,1,0,0,0,190,188,1,0,0,0,191,192,5,35,0,0,192,33,1,0,0,0,193,
        194,3,56,28,0,194,195,7,3,0,0,195,35,1,0,0,0,196,197,5,9,0,0,197,
        198,3,56,28,0,198,199,3,14,7,0,199,37,1,0,0,0,200,201,5,11,0,0,201,
        202,3,56,28,0,202,39,1,0,0,0,203,211,3,6,3,0,204,211,3,42,21,0,205,
        211,3,44,22,0,206,211,3,46,23,0,207,211,3,48,24,0,208,211,3,50,25,
        0,209,211,3,52,26,0,210,203,1,0,0,0,210,204,1,0,0,0,210,205,1,0,
        0,0,210,206,1,0,0,0,210,207,1,0,0,0,210,208,1,0,0,0,210,209,1,0,
        0,0,211,41,1,0,0,0,212,215,5,12,0,0,213,216,5,13,0,0,214,216,3,54,
        27,0,215,213,1,0,0,0,215,214,1,0,0,0,216,43,1,0,0,0,217,221,5,14,
        0,0,218,220,5,37,0,0,219,218,1,0,0,0,220,223,1,0,0,0,221,219,1,0,
        0,0,221,222,1,0,0,0,222,45,1,0,0,0,223,221,1,0,0,0,224,225,5,15,
        0,0,225,229,7,4,0,0,226,228,5,37,0,0,227,226,1,0,0,0,228,231,1,0,
        0,0,229,227,1,0,0,0,229,230,1,0,0,0,230,47,1,0,0,0,231,229,1,0,0,
        0,232,233,5,16,0,0,233,234,5,43,0,0,234,49,1,0,0,0,235,236,5,17,
        0,0,236,237,5,43,0,0,237,51,1,0,0,0,238,239,5,18,0,0,239,240,5,43,
        0,0,240,241,5,37,0,0,241,53,1,0,0,0,242,260,5,37,0,0,243,260,5,38,
        0,0,244,260,5,39,0,0,245,260,5,19,0,0,246,260,5,20,0,0,247,260,5,
        40,0,0,248,260,5,42,0,0,249,260,5,21,0,0,250,260,5,43,0,0,251,255,
        5,34,0,0,252,254,3,54,27,0,253,252,1,0,0,0,254,257,1,0,0,0,255,253,
        1,0,0,0,255,256,1,0,0,0,256,258,1,0,0,0,257,255,1,0,0,0,258,260,
        5,35,0,0,259,242,1,0,0,0,259,243,1,0,0,0,259,244,1,0,0,0,259,245,
        1,0,0,0,259,246,1,0,0,0,259,247,1,0,0,0,259,248,1,0,0,0,259,249,
        1,0,0,0,259,250,1,0,0,0,259,251,1,0,0,0,260,55,1,0,0,0,261,262,7,
        5,0,0,262,57,1,0,0,0,24,60,64,70,82,95,103,109,119,126,130,138,142,
        148,153,159,169,173,188,210,215,221,229,255,259
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
                     "'quantize'", "'NaN'", "<INVALID>", "'NIL'", "'byte'",
                     "'ubyte'", "'short'", "'ushort'", "'int'", "'uint'",
                     "'int64'", "'uint64'", "'string'", "'char'", "'float'",
                     "'double'", "'{'", "'}'" ]

    symbolicNames = [ "<INVALID>", "DATASET", "GROUP", "ATTRIBUTE", "DIMENSION",
                      "VARIABLE", "COMPOUND", "OPAQUE", "ENUM", "VLEN",
                      "UNLIMITED", "KIND", "FILL", "NONE", "CHUNKS", "CODEC",
                      "LAYOUT", "ENDIAN", "QUANTIZE", "NAN", "INFINITY",
                      "NIL", "BYTE_T", "UBYTE_T", "SHORT_T", "USHORT_T",
                      "INT_T", "UINT_T", "INT64_T", "UINT64_T", "STRING_T",
                      "CHAR_T", "FLOAT_T", "DOUBLE_T", "LBRACE", "RBRACE",
                      "ZARRVERSION", "SIZE", "INTEGER", "FLOAT", "HEX",
                      "OFFSET", "STRING", "NAME", "FQN", "BAD_NUMBER", "BAD_STRING",
                      "COMMENT", "SPACE", "BAD" ]

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
    RULE_codec = 23
    RULE_layout = 24
    RULE_endian = 25
    RULE_quantize = 26
    RULE_constant = 27
    RULE_name = 28

    ruleNames =  [ "dataset", "group", "declaration", "attribute", "dimension",
                   "variable", "dimref", "type", "value_type", "atomic_type",
                   "fixed_atomic_type", "fixed_size_type", "compound", "field",
                   "opaque", "typeref", "enum", "enumerator", "vlen", "kind",
                   "property", "fill", "chunks", "codec", "layout", "endian",
                   "quantize", "constant", "name" ]

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
    NAN=19
    INFINITY=20
    NIL=21
    BYTE_T=22
    UBYTE_T=23
    SHORT_T=24
    USHORT_T=25
    INT_T=26
    UINT_T=27
    INT64_T=28
    UINT64_T=29
    STRING_T=30
    CHAR_T=31
    FLOAT_T=32
    DOUBLE_T=33
    LBRACE=34
    RBRACE=35
    ZARRVERSION=36
    SIZE=37
    INTEGER=38
    FLOAT=39
    HEX=40
    OFFSET=41
    STRING=42
    NAME=43
    FQN=44
    BAD_NUMBER=45
    BAD_STRING=46
    COMMENT=47
    SPACE=48
    BAD=49

    def __init__(self, input:TokenStream, output:TextIO = sys.stdout):
        super().__init__(input, output)
        self.checkVersion("4.13.2")
        self._interp = ParserATNSimulator(self, self.atn, self.decisionsToDFA, self.sharedContextCache)
        self._predicates = None




    class DatasetContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def DATASET(self):
            return self.getToken(NCZarrParser.DATASET, 0)

        def ZARRVERSION(self):
            return self.getToken(NCZarrParser.ZARRVERSION, 0)

        def LBRACE(self):
            return self.getToken(NCZarrParser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(NCZarrParser.RBRACE, 0)

        def EOF(self):
            return self.getToken(NCZarrParser.EOF, 0)

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def kind(self):
            return self.getTypedRuleContext(NCZarrParser.KindContext,0)


        def declaration(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(NCZarrParser.DeclarationContext)
            else:
                return self.getTypedRuleContext(NCZarrParser.DeclarationContext,i)


        def getRuleIndex(self):
            return NCZarrParser.RULE_dataset




    def dataset(self):

        localctx = NCZarrParser.DatasetContext(self, self._ctx, self.state)
        self.enterRule(localctx, 0, self.RULE_dataset)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 58
            self.match(NCZarrParser.DATASET)
            self.state = 60
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 8813272891390) != 0):
                self.state = 59
                self.name()


            self.state = 62
            self.match(NCZarrParser.ZARRVERSION)
            self.state = 64
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==11:
                self.state = 63
                self.kind()


            self.state = 66
            self.match(NCZarrParser.LBRACE)
            self.state = 70
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 1020) != 0):
                self.state = 67
                self.declaration()
                self.state = 72
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 73
            self.match(NCZarrParser.RBRACE)
            self.state = 74
            self.match(NCZarrParser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class GroupContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def GROUP(self):
            return self.getToken(NCZarrParser.GROUP, 0)

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


        def getRuleIndex(self):
            return NCZarrParser.RULE_group




    def group(self):

        localctx = NCZarrParser.GroupContext(self, self._ctx, self.state)
        self.enterRule(localctx, 2, self.RULE_group)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 76
            self.match(NCZarrParser.GROUP)
            self.state = 77
            self.name()
            self.state = 78
            self.match(NCZarrParser.LBRACE)
            self.state = 82
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 1020) != 0):
                self.state = 79
                self.declaration()
                self.state = 84
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 85
            self.match(NCZarrParser.RBRACE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DeclarationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

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


        def opaque(self):
            return self.getTypedRuleContext(NCZarrParser.OpaqueContext,0)


        def enum(self):
            return self.getTypedRuleContext(NCZarrParser.EnumContext,0)


        def vlen(self):
            return self.getTypedRuleContext(NCZarrParser.VlenContext,0)


        def getRuleIndex(self):
            return NCZarrParser.RULE_declaration




    def declaration(self):

        localctx = NCZarrParser.DeclarationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 4, self.RULE_declaration)
        try:
            self.state = 95
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [4]:
                self.enterOuterAlt(localctx, 1)
                self.state = 87
                self.dimension()
                pass
            elif token in [5]:
                self.enterOuterAlt(localctx, 2)
                self.state = 88
                self.variable()
                pass
            elif token in [3]:
                self.enterOuterAlt(localctx, 3)
                self.state = 89
                self.attribute()
                pass
            elif token in [2]:
                self.enterOuterAlt(localctx, 4)
                self.state = 90
                self.group()
                pass
            elif token in [6]:
                self.enterOuterAlt(localctx, 5)
                self.state = 91
                self.compound()
                pass
            elif token in [7]:
                self.enterOuterAlt(localctx, 6)
                self.state = 92
                self.opaque()
                pass
            elif token in [8]:
                self.enterOuterAlt(localctx, 7)
                self.state = 93
                self.enum()
                pass
            elif token in [9]:
                self.enterOuterAlt(localctx, 8)
                self.state = 94
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


    class AttributeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def ATTRIBUTE(self):
            return self.getToken(NCZarrParser.ATTRIBUTE, 0)

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def value_type(self):
            return self.getTypedRuleContext(NCZarrParser.Value_typeContext,0)


        def constant(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(NCZarrParser.ConstantContext)
            else:
                return self.getTypedRuleContext(NCZarrParser.ConstantContext,i)


        def getRuleIndex(self):
            return NCZarrParser.RULE_attribute




    def attribute(self):

        localctx = NCZarrParser.AttributeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 6, self.RULE_attribute)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 97
            self.match(NCZarrParser.ATTRIBUTE)
            self.state = 98
            self.name()
            self.state = 99
            self.value_type()
            self.state = 103
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 15272907374592) != 0):
                self.state = 100
                self.constant()
                self.state = 105
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DimensionContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def DIMENSION(self):
            return self.getToken(NCZarrParser.DIMENSION, 0)

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def SIZE(self):
            return self.getToken(NCZarrParser.SIZE, 0)

        def UNLIMITED(self):
            return self.getToken(NCZarrParser.UNLIMITED, 0)

        def getRuleIndex(self):
            return NCZarrParser.RULE_dimension




    def dimension(self):

        localctx = NCZarrParser.DimensionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 8, self.RULE_dimension)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 106
            self.match(NCZarrParser.DIMENSION)
            self.state = 107
            self.name()
            self.state = 109
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==10:
                self.state = 108
                self.match(NCZarrParser.UNLIMITED)


            self.state = 111
            self.match(NCZarrParser.SIZE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class VariableContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def VARIABLE(self):
            return self.getToken(NCZarrParser.VARIABLE, 0)

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

        def property_(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(NCZarrParser.PropertyContext)
            else:
                return self.getTypedRuleContext(NCZarrParser.PropertyContext,i)


        def getRuleIndex(self):
            return NCZarrParser.RULE_variable




    def variable(self):

        localctx = NCZarrParser.VariableContext(self, self._ctx, self.state)
        self.enterRule(localctx, 10, self.RULE_variable)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 113
            self.match(NCZarrParser.VARIABLE)
            self.state = 114
            self.name()
            self.state = 115
            self.type_()
            self.state = 119
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==37 or _la==44:
                self.state = 116
                self.dimref()
                self.state = 121
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 130
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==34:
                self.state = 122
                self.match(NCZarrParser.LBRACE)
                self.state = 126
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 512008) != 0):
                    self.state = 123
                    self.property_()
                    self.state = 128
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 129
                self.match(NCZarrParser.RBRACE)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DimrefContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def SIZE(self):
            return self.getToken(NCZarrParser.SIZE, 0)

        def FQN(self):
            return self.getToken(NCZarrParser.FQN, 0)

        def getRuleIndex(self):
            return NCZarrParser.RULE_dimref




    def dimref(self):

        localctx = NCZarrParser.DimrefContext(self, self._ctx, self.state)
        self.enterRule(localctx, 12, self.RULE_dimref)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 132
            _la = self._input.LA(1)
            if not(_la==37 or _la==44):
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


    class TypeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def value_type(self):
            return self.getTypedRuleContext(NCZarrParser.Value_typeContext,0)


        def getRuleIndex(self):
            return NCZarrParser.RULE_type




    def type_(self):

        localctx = NCZarrParser.TypeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 14, self.RULE_type)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 134
            self.value_type()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class Value_typeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def atomic_type(self):
            return self.getTypedRuleContext(NCZarrParser.Atomic_typeContext,0)


        def typeref(self):
            return self.getTypedRuleContext(NCZarrParser.TyperefContext,0)


        def getRuleIndex(self):
            return NCZarrParser.RULE_value_type




    def value_type(self):

        localctx = NCZarrParser.Value_typeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 16, self.RULE_value_type)
        try:
            self.state = 138
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33]:
                self.enterOuterAlt(localctx, 1)
                self.state = 136
                self.atomic_type()
                pass
            elif token in [43, 44]:
                self.enterOuterAlt(localctx, 2)
                self.state = 137
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


    class Atomic_typeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def fixed_atomic_type(self):
            return self.getTypedRuleContext(NCZarrParser.Fixed_atomic_typeContext,0)


        def STRING_T(self):
            return self.getToken(NCZarrParser.STRING_T, 0)

        def getRuleIndex(self):
            return NCZarrParser.RULE_atomic_type




    def atomic_type(self):

        localctx = NCZarrParser.Atomic_typeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 18, self.RULE_atomic_type)
        try:
            self.state = 142
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [22, 23, 24, 25, 26, 27, 28, 29, 31, 32, 33]:
                self.enterOuterAlt(localctx, 1)
                self.state = 140
                self.fixed_atomic_type()
                pass
            elif token in [30]:
                self.enterOuterAlt(localctx, 2)
                self.state = 141
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


    class Fixed_atomic_typeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def BYTE_T(self):
            return self.getToken(NCZarrParser.BYTE_T, 0)

        def UBYTE_T(self):
            return self.getToken(NCZarrParser.UBYTE_T, 0)

        def SHORT_T(self):
            return self.getToken(NCZarrParser.SHORT_T, 0)

        def USHORT_T(self):
            return self.getToken(NCZarrParser.USHORT_T, 0)

        def INT_T(self):
            return self.getToken(NCZarrParser.INT_T, 0)

        def UINT_T(self):
            return self.getToken(NCZarrParser.UINT_T, 0)

        def INT64_T(self):
            return self.getToken(NCZarrParser.INT64_T, 0)

        def UINT64_T(self):
            return self.getToken(NCZarrParser.UINT64_T, 0)

        def CHAR_T(self):
            return self.getToken(NCZarrParser.CHAR_T, 0)

        def FLOAT_T(self):
            return self.getToken(NCZarrParser.FLOAT_T, 0)

        def DOUBLE_T(self):
            return self.getToken(NCZarrParser.DOUBLE_T, 0)

        def getRuleIndex(self):
            return NCZarrParser.RULE_fixed_atomic_type




    def fixed_atomic_type(self):

        localctx = NCZarrParser.Fixed_atomic_typeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 20, self.RULE_fixed_atomic_type)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 144
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 16101933056) != 0)):
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


    class Fixed_size_typeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def atomic_type(self):
            return self.getTypedRuleContext(NCZarrParser.Atomic_typeContext,0)


        def typeref(self):
            return self.getTypedRuleContext(NCZarrParser.TyperefContext,0)


        def getRuleIndex(self):
            return NCZarrParser.RULE_fixed_size_type




    def fixed_size_type(self):

        localctx = NCZarrParser.Fixed_size_typeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 22, self.RULE_fixed_size_type)
        try:
            self.state = 148
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33]:
                self.enterOuterAlt(localctx, 1)
                self.state = 146
                self.atomic_type()
                pass
            elif token in [43, 44]:
                self.enterOuterAlt(localctx, 2)
                self.state = 147
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


    class CompoundContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

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


        def getRuleIndex(self):
            return NCZarrParser.RULE_compound




    def compound(self):

        localctx = NCZarrParser.CompoundContext(self, self._ctx, self.state)
        self.enterRule(localctx, 24, self.RULE_compound)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 150
            self.match(NCZarrParser.COMPOUND)
            self.state = 151
            self.name()
            self.state = 153
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==41:
                self.state = 152
                self.match(NCZarrParser.OFFSET)


            self.state = 155
            self.match(NCZarrParser.LBRACE)
            self.state = 159
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 8813272891390) != 0):
                self.state = 156
                self.field()
                self.state = 161
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 162
            self.match(NCZarrParser.RBRACE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class FieldContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

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

        def getRuleIndex(self):
            return NCZarrParser.RULE_field




    def field(self):

        localctx = NCZarrParser.FieldContext(self, self._ctx, self.state)
        self.enterRule(localctx, 26, self.RULE_field)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 164
            self.name()
            self.state = 165
            self.fixed_size_type()
            self.state = 169
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==37:
                self.state = 166
                self.match(NCZarrParser.SIZE)
                self.state = 171
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 173
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==41:
                self.state = 172
                self.match(NCZarrParser.OFFSET)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class OpaqueContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def OPAQUE(self):
            return self.getToken(NCZarrParser.OPAQUE, 0)

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def SIZE(self):
            return self.getToken(NCZarrParser.SIZE, 0)

        def getRuleIndex(self):
            return NCZarrParser.RULE_opaque




    def opaque(self):

        localctx = NCZarrParser.OpaqueContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_opaque)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 175
            self.match(NCZarrParser.OPAQUE)
            self.state = 176
            self.name()
            self.state = 177
            self.match(NCZarrParser.SIZE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class TyperefContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

        def FQN(self):
            return self.getToken(NCZarrParser.FQN, 0)

        def getRuleIndex(self):
            return NCZarrParser.RULE_typeref




    def typeref(self):

        localctx = NCZarrParser.TyperefContext(self, self._ctx, self.state)
        self.enterRule(localctx, 30, self.RULE_typeref)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 179
            _la = self._input.LA(1)
            if not(_la==43 or _la==44):
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


    class EnumContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def ENUM(self):
            return self.getToken(NCZarrParser.ENUM, 0)

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def value_type(self):
            return self.getTypedRuleContext(NCZarrParser.Value_typeContext,0)


        def LBRACE(self):
            return self.getToken(NCZarrParser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(NCZarrParser.RBRACE, 0)

        def enumerator(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(NCZarrParser.EnumeratorContext)
            else:
                return self.getTypedRuleContext(NCZarrParser.EnumeratorContext,i)


        def getRuleIndex(self):
            return NCZarrParser.RULE_enum




    def enum(self):

        localctx = NCZarrParser.EnumContext(self, self._ctx, self.state)
        self.enterRule(localctx, 32, self.RULE_enum)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 181
            self.match(NCZarrParser.ENUM)
            self.state = 182
            self.name()
            self.state = 183
            self.value_type()
            self.state = 184
            self.match(NCZarrParser.LBRACE)
            self.state = 188
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 8813272891390) != 0):
                self.state = 185
                self.enumerator()
                self.state = 190
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 191
            self.match(NCZarrParser.RBRACE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EnumeratorContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def SIZE(self):
            return self.getToken(NCZarrParser.SIZE, 0)

        def INTEGER(self):
            return self.getToken(NCZarrParser.INTEGER, 0)

        def getRuleIndex(self):
            return NCZarrParser.RULE_enumerator




    def enumerator(self):

        localctx = NCZarrParser.EnumeratorContext(self, self._ctx, self.state)
        self.enterRule(localctx, 34, self.RULE_enumerator)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 193
            self.name()
            self.state = 194
            _la = self._input.LA(1)
            if not(_la==37 or _la==38):
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


    class VlenContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def VLEN(self):
            return self.getToken(NCZarrParser.VLEN, 0)

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def type_(self):
            return self.getTypedRuleContext(NCZarrParser.TypeContext,0)


        def getRuleIndex(self):
            return NCZarrParser.RULE_vlen




    def vlen(self):

        localctx = NCZarrParser.VlenContext(self, self._ctx, self.state)
        self.enterRule(localctx, 36, self.RULE_vlen)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 196
            self.match(NCZarrParser.VLEN)
            self.state = 197
            self.name()
            self.state = 198
            self.type_()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class KindContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def KIND(self):
            return self.getToken(NCZarrParser.KIND, 0)

        def name(self):
            return self.getTypedRuleContext(NCZarrParser.NameContext,0)


        def getRuleIndex(self):
            return NCZarrParser.RULE_kind




    def kind(self):

        localctx = NCZarrParser.KindContext(self, self._ctx, self.state)
        self.enterRule(localctx, 38, self.RULE_kind)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 200
            self.match(NCZarrParser.KIND)
            self.state = 201
            self.name()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PropertyContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def attribute(self):
            return self.getTypedRuleContext(NCZarrParser.AttributeContext,0)


        def fill(self):
            return self.getTypedRuleContext(NCZarrParser.FillContext,0)


        def chunks(self):
            return self.getTypedRuleContext(NCZarrParser.ChunksContext,0)


        def codec(self):
            return self.getTypedRuleContext(NCZarrParser.CodecContext,0)


        def layout(self):
            return self.getTypedRuleContext(NCZarrParser.LayoutContext,0)


        def endian(self):
            return self.getTypedRuleContext(NCZarrParser.EndianContext,0)


        def quantize(self):
            return self.getTypedRuleContext(NCZarrParser.QuantizeContext,0)


        def getRuleIndex(self):
            return NCZarrParser.RULE_property




    def property_(self):

        localctx = NCZarrParser.PropertyContext(self, self._ctx, self.state)
        self.enterRule(localctx, 40, self.RULE_property)
        try:
            self.state = 210
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [3]:
                self.enterOuterAlt(localctx, 1)
                self.state = 203
                self.attribute()
                pass
            elif token in [12]:
                self.enterOuterAlt(localctx, 2)
                self.state = 204
                self.fill()
                pass
            elif token in [14]:
                self.enterOuterAlt(localctx, 3)
                self.state = 205
                self.chunks()
                pass
            elif token in [15]:
                self.enterOuterAlt(localctx, 4)
                self.state = 206
                self.codec()
                pass
            elif token in [16]:
                self.enterOuterAlt(localctx, 5)
                self.state = 207
                self.layout()
                pass
            elif token in [17]:
                self.enterOuterAlt(localctx, 6)
                self.state = 208
                self.endian()
                pass
            elif token in [18]:
                self.enterOuterAlt(localctx, 7)
                self.state = 209
                self.quantize()
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


    class FillContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def FILL(self):
            return self.getToken(NCZarrParser.FILL, 0)

        def NONE(self):
            return self.getToken(NCZarrParser.NONE, 0)

        def constant(self):
            return self.getTypedRuleContext(NCZarrParser.ConstantContext,0)


        def getRuleIndex(self):
            return NCZarrParser.RULE_fill




    def fill(self):

        localctx = NCZarrParser.FillContext(self, self._ctx, self.state)
        self.enterRule(localctx, 42, self.RULE_fill)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 212
            self.match(NCZarrParser.FILL)
            self.state = 215
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [13]:
                self.state = 213
                self.match(NCZarrParser.NONE)
                pass
            elif token in [19, 20, 21, 34, 37, 38, 39, 40, 42, 43]:
                self.state = 214
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


    class ChunksContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def CHUNKS(self):
            return self.getToken(NCZarrParser.CHUNKS, 0)

        def SIZE(self, i:int=None):
            if i is None:
                return self.getTokens(NCZarrParser.SIZE)
            else:
                return self.getToken(NCZarrParser.SIZE, i)

        def getRuleIndex(self):
            return NCZarrParser.RULE_chunks




    def chunks(self):

        localctx = NCZarrParser.ChunksContext(self, self._ctx, self.state)
        self.enterRule(localctx, 44, self.RULE_chunks)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 217
            self.match(NCZarrParser.CHUNKS)
            self.state = 221
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==37:
                self.state = 218
                self.match(NCZarrParser.SIZE)
                self.state = 223
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CodecContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def CODEC(self):
            return self.getToken(NCZarrParser.CODEC, 0)

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

        def SIZE(self, i:int=None):
            if i is None:
                return self.getTokens(NCZarrParser.SIZE)
            else:
                return self.getToken(NCZarrParser.SIZE, i)

        def getRuleIndex(self):
            return NCZarrParser.RULE_codec




    def codec(self):

        localctx = NCZarrParser.CodecContext(self, self._ctx, self.state)
        self.enterRule(localctx, 46, self.RULE_codec)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 224
            self.match(NCZarrParser.CODEC)
            self.state = 225
            _la = self._input.LA(1)
            if not(_la==37 or _la==43):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
            self.state = 229
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==37:
                self.state = 226
                self.match(NCZarrParser.SIZE)
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


    class LayoutContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def LAYOUT(self):
            return self.getToken(NCZarrParser.LAYOUT, 0)

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

        def getRuleIndex(self):
            return NCZarrParser.RULE_layout




    def layout(self):

        localctx = NCZarrParser.LayoutContext(self, self._ctx, self.state)
        self.enterRule(localctx, 48, self.RULE_layout)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 232
            self.match(NCZarrParser.LAYOUT)
            self.state = 233
            self.match(NCZarrParser.NAME)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EndianContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def ENDIAN(self):
            return self.getToken(NCZarrParser.ENDIAN, 0)

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

        def getRuleIndex(self):
            return NCZarrParser.RULE_endian




    def endian(self):

        localctx = NCZarrParser.EndianContext(self, self._ctx, self.state)
        self.enterRule(localctx, 50, self.RULE_endian)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 235
            self.match(NCZarrParser.ENDIAN)
            self.state = 236
            self.match(NCZarrParser.NAME)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class QuantizeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def QUANTIZE(self):
            return self.getToken(NCZarrParser.QUANTIZE, 0)

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

        def SIZE(self):
            return self.getToken(NCZarrParser.SIZE, 0)

        def getRuleIndex(self):
            return NCZarrParser.RULE_quantize




    def quantize(self):

        localctx = NCZarrParser.QuantizeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 52, self.RULE_quantize)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 238
            self.match(NCZarrParser.QUANTIZE)
            self.state = 239
            self.match(NCZarrParser.NAME)
            self.state = 240
            self.match(NCZarrParser.SIZE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ConstantContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def SIZE(self):
            return self.getToken(NCZarrParser.SIZE, 0)

        def INTEGER(self):
            return self.getToken(NCZarrParser.INTEGER, 0)

        def FLOAT(self):
            return self.getToken(NCZarrParser.FLOAT, 0)

        def NAN(self):
            return self.getToken(NCZarrParser.NAN, 0)

        def INFINITY(self):
            return self.getToken(NCZarrParser.INFINITY, 0)

        def HEX(self):
            return self.getToken(NCZarrParser.HEX, 0)

        def STRING(self):
            return self.getToken(NCZarrParser.STRING, 0)

        def NIL(self):
            return self.getToken(NCZarrParser.NIL, 0)

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


        def getRuleIndex(self):
            return NCZarrParser.RULE_constant




    def constant(self):

        localctx = NCZarrParser.ConstantContext(self, self._ctx, self.state)
        self.enterRule(localctx, 54, self.RULE_constant)
        self._la = 0 # Token type
        try:
            self.state = 259
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [37]:
                self.enterOuterAlt(localctx, 1)
                self.state = 242
                self.match(NCZarrParser.SIZE)
                pass
            elif token in [38]:
                self.enterOuterAlt(localctx, 2)
                self.state = 243
                self.match(NCZarrParser.INTEGER)
                pass
            elif token in [39]:
                self.enterOuterAlt(localctx, 3)
                self.state = 244
                self.match(NCZarrParser.FLOAT)
                pass
            elif token in [19]:
                self.enterOuterAlt(localctx, 4)
                self.state = 245
                self.match(NCZarrParser.NAN)
                pass
            elif token in [20]:
                self.enterOuterAlt(localctx, 5)
                self.state = 246
                self.match(NCZarrParser.INFINITY)
                pass
            elif token in [40]:
                self.enterOuterAlt(localctx, 6)
                self.state = 247
                self.match(NCZarrParser.HEX)
                pass
            elif token in [42]:
                self.enterOuterAlt(localctx, 7)
                self.state = 248
                self.match(NCZarrParser.STRING)
                pass
            elif token in [21]:
                self.enterOuterAlt(localctx, 8)
                self.state = 249
                self.match(NCZarrParser.NIL)
                pass
            elif token in [43]:
                self.enterOuterAlt(localctx, 9)
                self.state = 250
                self.match(NCZarrParser.NAME)
                pass
            elif token in [34]:
                self.enterOuterAlt(localctx, 10)
                self.state = 251
                self.match(NCZarrParser.LBRACE)
                self.state = 255
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 15272907374592) != 0):
                    self.state = 252
                    self.constant()
                    self.state = 257
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 258
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


    class NameContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NAME(self):
            return self.getToken(NCZarrParser.NAME, 0)

        def DATASET(self):
            return self.getToken(NCZarrParser.DATASET, 0)

        def GROUP(self):
            return self.getToken(NCZarrParser.GROUP, 0)

        def ATTRIBUTE(self):
            return self.getToken(NCZarrParser.ATTRIBUTE, 0)

        def DIMENSION(self):
            return self.getToken(NCZarrParser.DIMENSION, 0)

        def VARIABLE(self):
            return self.getToken(NCZarrParser.VARIABLE, 0)

        def COMPOUND(self):
            return self.getToken(NCZarrParser.COMPOUND, 0)

        def OPAQUE(self):
            return self.getToken(NCZarrParser.OPAQUE, 0)

        def ENUM(self):
            return self.getToken(NCZarrParser.ENUM, 0)

        def VLEN(self):
            return self.getToken(NCZarrParser.VLEN, 0)

        def UNLIMITED(self):
            return self.getToken(NCZarrParser.UNLIMITED, 0)

        def KIND(self):
            return self.getToken(NCZarrParser.KIND, 0)

        def FILL(self):
            return self.getToken(NCZarrParser.FILL, 0)

        def NONE(self):
            return self.getToken(NCZarrParser.NONE, 0)

        def CHUNKS(self):
            return self.getToken(NCZarrParser.CHUNKS, 0)

        def CODEC(self):
            return self.getToken(NCZarrParser.CODEC, 0)

        def LAYOUT(self):
            return self.getToken(NCZarrParser.LAYOUT, 0)

        def ENDIAN(self):
            return self.getToken(NCZarrParser.ENDIAN, 0)

        def QUANTIZE(self):
            return self.getToken(NCZarrParser.QUANTIZE, 0)

        def NAN(self):
            return self.getToken(NCZarrParser.NAN, 0)

        def INFINITY(self):
            return self.getToken(NCZarrParser.INFINITY, 0)

        def NIL(self):
            return self.getToken(NCZarrParser.NIL, 0)

        def BYTE_T(self):
            return self.getToken(NCZarrParser.BYTE_T, 0)

        def UBYTE_T(self):
            return self.getToken(NCZarrParser.UBYTE_T, 0)

        def SHORT_T(self):
            return self.getToken(NCZarrParser.SHORT_T, 0)

        def USHORT_T(self):
            return self.getToken(NCZarrParser.USHORT_T, 0)

        def INT_T(self):
            return self.getToken(NCZarrParser.INT_T, 0)

        def UINT_T(self):
            return self.getToken(NCZarrParser.UINT_T, 0)

        def INT64_T(self):
            return self.getToken(NCZarrParser.INT64_T, 0)

        def UINT64_T(self):
            return self.getToken(NCZarrParser.UINT64_T, 0)

        def CHAR_T(self):
            return self.getToken(NCZarrParser.CHAR_T, 0)

        def FLOAT_T(self):
            return self.getToken(NCZarrParser.FLOAT_T, 0)

        def DOUBLE_T(self):
            return self.getToken(NCZarrParser.DOUBLE_T, 0)

        def STRING_T(self):
            return self.getToken(NCZarrParser.STRING_T, 0)

        def getRuleIndex(self):
            return NCZarrParser.RULE_name




    def name(self):

        localctx = NCZarrParser.NameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 56, self.RULE_name)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 261
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 8813272891390) != 0)):
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





