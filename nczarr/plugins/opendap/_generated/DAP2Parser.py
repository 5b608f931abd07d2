# Generated from DAP2.g4 by ANTLR 4.13.2
# encoding: utf-8
from antlr4 import *
from io import StringIO
import sys
from nczarr.syntax.tokens import RuleContext
from typing import TextIO

def serializedATN():
    return [
        4,1,18,161,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,1,0,1,0,1,0,5,0,26,8,0,10,0,
        12,0,29,9,0,1,0,1,0,3,0,33,8,0,1,0,3,0,36,8,0,1,0,1,0,1,1,1,1,1,
        1,1,1,3,1,44,8,1,1,2,1,2,1,2,5,2,49,8,2,10,2,12,2,52,9,2,1,2,1,2,
        1,3,1,3,1,3,5,3,59,8,3,10,3,12,3,62,9,3,1,3,1,3,1,3,5,3,67,8,3,10,
        3,12,3,70,9,3,1,3,1,3,1,4,1,4,1,4,5,4,77,8,4,10,4,12,4,80,9,4,1,
        4,1,4,1,4,5,4,85,8,4,10,4,12,4,88,9,4,1,4,1,4,1,5,1,5,1,5,1,5,1,
        5,1,5,5,5,98,8,5,10,5,12,5,101,9,5,1,5,1,5,1,5,1,5,1,6,1,6,1,6,1,
        6,3,6,111,8,6,1,6,1,6,1,7,1,7,1,7,5,7,118,8,7,10,7,12,7,121,9,7,
        1,7,4,7,124,8,7,11,7,12,7,125,1,7,3,7,129,8,7,1,7,1,7,1,8,1,8,1,
        8,5,8,136,8,8,10,8,12,8,139,9,8,1,8,1,8,1,8,1,8,1,8,5,8,146,8,8,
        10,8,12,8,149,9,8,3,8,151,8,8,1,8,1,8,3,8,155,8,8,1,9,1,9,1,10,1,
        10,1,10,0,0,11,0,2,4,6,8,10,12,14,16,18,20,0,1,2,0,1,7,15,16,169,
        0,22,1,0,0,0,2,43,1,0,0,0,4,45,1,0,0,0,6,55,1,0,0,0,8,73,1,0,0,0,
        10,91,1,0,0,0,12,106,1,0,0,0,14,123,1,0,0,0,16,132,1,0,0,0,18,156,
        1,0,0,0,20,158,1,0,0,0,22,23,5,1,0,0,23,27,5,8,0,0,24,26,3,2,1,0,
        25,24,1,0,0,0,26,29,1,0,0,0,27,25,1,0,0,0,27,28,1,0,0,0,28,30,1,
        0,0,0,29,27,1,0,0,0,30,32,5,9,0,0,31,33,3,20,10,0,32,31,1,0,0,0,
        32,33,1,0,0,0,33,35,1,0,0,0,34,36,5,12,0,0,35,34,1,0,0,0,35,36,1,
        0,0,0,36,37,1,0,0,0,37,38,5,0,0,1,38,1,1,0,0,0,39,44,3,4,2,0,40,
        44,3,6,3,0,41,44,3,8,4,0,42,44,3,10,5,0,43,39,1,0,0,0,43,40,1,0,
        0,0,43,41,1,0,0,0,43,42,1,0,0,0,44,3,1,0,0,0,45,46,5,16,0,0,46,50,
        3,20,10,0,47,49,3,12,6,0,48,47,1,0,0,0,49,52,1,0,0,0,50,48,1,0,0,
        0,50,51,1,0,0,0,51,53,1,0,0,0,52,50,1,0,0,0,53,54,5,12,0,0,54,5,
        1,0,0,0,55,56,5,3,0,0,56,60,5,8,0,0,57,59,3,2,1,0,58,57,1,0,0,0,
        59,62,1,0,0,0,60,58,1,0,0,0,60,61,1,0,0,0,61,63,1,0,0,0,62,60,1,
        0,0,0,63,64,5,9,0,0,64,68,3,20,10,0,65,67,3,12,6,0,66,65,1,0,0,0,
        67,70,1,0,0,0,68,66,1,0,0,0,68,69,1,0,0,0,69,71,1,0,0,0,70,68,1,
        0,0,0,71,72,5,12,0,0,72,7,1,0,0,0,73,74,5,4,0,0,74,78,5,8,0,0,75,
        77,3,2,1,0,76,75,1,0,0,0,77,80,1,0,0,0,78,76,1,0,0,0,78,79,1,0,0,
        0,79,81,1,0,0,0,80,78,1,0,0,0,81,82,5,9,0,0,82,86,3,20,10,0,83,85,
        3,12,6,0,84,83,1,0,0,0,85,88,1,0,0,0,86,84,1,0,0,0,86,87,1,0,0,0,
        87,89,1,0,0,0,88,86,1,0,0,0,89,90,5,12,0,0,90,9,1,0,0,0,91,92,5,
        5,0,0,92,93,5,8,0,0,93,94,5,6,0,0,94,95,3,2,1,0,95,99,5,7,0,0,96,
        98,3,2,1,0,97,96,1,0,0,0,98,101,1,0,0,0,99,97,1,0,0,0,99,100,1,0,
        0,0,100,102,1,0,0,0,101,99,1,0,0,0,102,103,5,9,0,0,103,104,3,20,
        10,0,104,105,5,12,0,0,105,11,1,0,0,0,106,107,5,10,0,0,107,110,3,
        20,10,0,108,109,5,14,0,0,109,111,5,16,0,0,110,108,1,0,0,0,110,111,
        1,0,0,0,111,112,1,0,0,0,112,113,5,11,0,0,113,13,1,0,0,0,114,115,
        5,2,0,0,115,119,5,8,0,0,116,118,3,16,8,0,117,116,1,0,0,0,118,121,
        1,0,0,0,119,117,1,0,0,0,119,120,1,0,0,0,120,122,1,0,0,0,121,119,
        1,0,0,0,122,124,5,9,0,0,123,114,1,0,0,0,124,125,1,0,0,0,125,123,
        1,0,0,0,125,126,1,0,0,0,126,128,1,0,0,0,127,129,5,12,0,0,128,127,
        1,0,0,0,128,129,1,0,0,0,129,130,1,0,0,0,130,131,5,0,0,1,131,15,1,
        0,0,0,132,154,3,20,10,0,133,137,5,8,0,0,134,136,3,16,8,0,135,134,
        1,0,0,0,136,139,1,0,0,0,137,135,1,0,0,0,137,138,1,0,0,0,138,140,
        1,0,0,0,139,137,1,0,0,0,140,155,5,9,0,0,141,150,3,20,10,0,142,147,
        3,18,9,0,143,144,5,13,0,0,144,146,3,18,9,0,145,143,1,0,0,0,146,149,
        1,0,0,0,147,145,1,0,0,0,147,148,1,0,0,0,148,151,1,0,0,0,149,147,
        1,0,0,0,150,142,1,0,0,0,150,151,1,0,0,0,151,152,1,0,0,0,152,153,
        5,12,0,0,153,155,1,0,0,0,154,133,1,0,0,0,154,141,1,0,0,0,155,17,
        1,0,0,0,156,157,3,20,10,0,157,19,1,0,0,0,158,159,7,0,0,0,159,21,
        1,0,0,0,18,27,32,35,43,50,60,68,78,86,99,110,119,125,128,137,147,
        150,154
    ]

class DAP2Parser ( Parser ):

    grammarFileName = "DAP2.g4"

    atn = ATNDeserializer().deserialize(serializedATN())

    decisionsToDFA = [ DFA(ds, i) for i, ds in enumerate(atn.decisionToState) ]

    sharedContextCache = PredictionContextCache()

    literalNames = [ "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>",
                     "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>",
                     "'{'", "'}'", "'['", "']'", "';'", "','", "'='" ]

    symbolicNames = [ "<INVALID>", "DATASET", "ATTRIBUTES", "STRUCTURE",
                      "SEQUENCE", "GRID", "ARRAY", "MAPS", "LBRACE", "RBRACE",
                      "LBRACKET", "RBRACKET", "SEMI", "COMMA", "EQUAL",
                      "TEXT", "WORD", "BLANK", "COMMENT" ]

    RULE_dds = 0
    RULE_declaration = 1
    RULE_plain = 2
    RULE_structure = 3
    RULE_sequence = 4
    RULE_grid = 5
    RULE_dimension = 6
    RULE_das = 7
    RULE_entry = 8
    RULE_value = 9
    RULE_name = 10

    ruleNames =  [ "dds", "declaration", "plain", "structure", "sequence",
                   "grid", "dimension", "das", "entry", "value", "name" ]

    EOF = Token.EOF
    DATASET=1
    ATTRIBUTES=2
    STRUCTURE=3
    SEQUENCE=4
    GRID=5
    ARRAY=6
    MAPS=7
    LBRACE=8
    RBRACE=9
    LBRACKET=10
    RBRACKET=11
    SEMI=12
    COMMA=13
    EQUAL=14
    TEXT=15
    WORD=16
    BLANK=17
    COMMENT=18

    def __init__(self, input:TokenStream, output:TextIO = sys.stdout):
        super().__init__(input, output)
        self.checkVersion("4.13.2")
        self._interp = ParserATNSimulator(self, self.atn, self.decisionsToDFA, self.sharedContextCache)
        self._predicates = None


    class DdsContext(RuleContext):
        __slots__ = ()

        def LBRACE(self):
            return self.getToken(DAP2Parser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(DAP2Parser.RBRACE, 0)

        def declaration(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(DAP2Parser.DeclarationContext)
            else:
                return self.getTypedRuleContext(DAP2Parser.DeclarationContext,i)


        def name(self):
            return self.getTypedRuleContext(DAP2Parser.NameContext,0)


    def dds(self):

        localctx = DAP2Parser.DdsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 0, self.RULE_dds)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 22
            self.match(DAP2Parser.DATASET)
            self.state = 23
            self.match(DAP2Parser.LBRACE)
            self.state = 27
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 65592) != 0):
                self.state = 24
                self.declaration()
                self.state = 29
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 30
            self.match(DAP2Parser.RBRACE)
            self.state = 32
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 98558) != 0):
                self.state = 31
                self.name()


            self.state = 35
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==12:
                self.state = 34
                self.match(DAP2Parser.SEMI)


            self.state = 37
            self.match(DAP2Parser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DeclarationContext(RuleContext):
        __slots__ = ()

        def plain(self):
            return self.getTypedRuleContext(DAP2Parser.PlainContext,0)


        def structure(self):
            return self.getTypedRuleContext(DAP2Parser.StructureContext,0)


        def sequence(self):
            return self.getTypedRuleContext(DAP2Parser.SequenceContext,0)


        def grid(self):
            return self.getTypedRuleContext(DAP2Parser.GridContext,0)


    def declaration(self):

        localctx = DAP2Parser.DeclarationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 2, self.RULE_declaration)
        try:
            self.state = 43
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [16]:
                self.enterOuterAlt(localctx, 1)
                self.state = 39
                self.plain()
                pass
            elif token in [3]:
                self.enterOuterAlt(localctx, 2)
                self.state = 40
                self.structure()
                pass
            elif token in [4]:
                self.enterOuterAlt(localctx, 3)
                self.state = 41
                self.sequence()
                pass
            elif token in [5]:
                self.enterOuterAlt(localctx, 4)
                self.state = 42
                self.grid()
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


    class PlainContext(RuleContext):
        __slots__ = ()

        def WORD(self):
            return self.getToken(DAP2Parser.WORD, 0)

        def name(self):
            return self.getTypedRuleContext(DAP2Parser.NameContext,0)


        def dimension(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(DAP2Parser.DimensionContext)
            else:
                return self.getTypedRuleContext(DAP2Parser.DimensionContext,i)


    def plain(self):

        localctx = DAP2Parser.PlainContext(self, self._ctx, self.state)
        self.enterRule(localctx, 4, self.RULE_plain)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 45
            self.match(DAP2Parser.WORD)
            self.state = 46
            self.name()
            self.state = 50
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==10:
                self.state = 47
                self.dimension()
                self.state = 52
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 53
            self.match(DAP2Parser.SEMI)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StructureContext(RuleContext):
        __slots__ = ()

        def LBRACE(self):
            return self.getToken(DAP2Parser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(DAP2Parser.RBRACE, 0)

        def name(self):
            return self.getTypedRuleContext(DAP2Parser.NameContext,0)


        def declaration(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(DAP2Parser.DeclarationContext)
            else:
                return self.getTypedRuleContext(DAP2Parser.DeclarationContext,i)


        def dimension(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(DAP2Parser.DimensionContext)
            else:
                return self.getTypedRuleContext(DAP2Parser.DimensionContext,i)


    def structure(self):

        localctx = DAP2Parser.StructureContext(self, self._ctx, self.state)
        self.enterRule(localctx, 6, self.RULE_structure)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 55
            self.match(DAP2Parser.STRUCTURE)
            self.state = 56
            self.match(DAP2Parser.LBRACE)
            self.state = 60
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 65592) != 0):
                self.state = 57
                self.declaration()
                self.state = 62
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 63
            self.match(DAP2Parser.RBRACE)
            self.state = 64
            self.name()
            self.state = 68
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==10:
                self.state = 65
                self.dimension()
                self.state = 70
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 71
            self.match(DAP2Parser.SEMI)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SequenceContext(RuleContext):
        __slots__ = ()

        def LBRACE(self):
            return self.getToken(DAP2Parser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(DAP2Parser.RBRACE, 0)

        def name(self):
            return self.getTypedRuleContext(DAP2Parser.NameContext,0)


        def declaration(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(DAP2Parser.DeclarationContext)
            else:
                return self.getTypedRuleContext(DAP2Parser.DeclarationContext,i)


        def dimension(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(DAP2Parser.DimensionContext)
            else:
                return self.getTypedRuleContext(DAP2Parser.DimensionContext,i)


    def sequence(self):

        localctx = DAP2Parser.SequenceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 8, self.RULE_sequence)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 73
            self.match(DAP2Parser.SEQUENCE)
            self.state = 74
            self.match(DAP2Parser.LBRACE)
            self.state = 78
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 65592) != 0):
                self.state = 75
                self.declaration()
                self.state = 80
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 81
            self.match(DAP2Parser.RBRACE)
            self.state = 82
            self.name()
            self.state = 86
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==10:
                self.state = 83
                self.dimension()
                self.state = 88
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 89
            self.match(DAP2Parser.SEMI)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class GridContext(RuleContext):
        __slots__ = ()

        def LBRACE(self):
            return self.getToken(DAP2Parser.LBRACE, 0)

        def declaration(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(DAP2Parser.DeclarationContext)
            else:
                return self.getTypedRuleContext(DAP2Parser.DeclarationContext,i)


        def RBRACE(self):
            return self.getToken(DAP2Parser.RBRACE, 0)

        def name(self):
            return self.getTypedRuleContext(DAP2Parser.NameContext,0)


    def grid(self):

        localctx = DAP2Parser.GridContext(self, self._ctx, self.state)
        self.enterRule(localctx, 10, self.RULE_grid)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 91
            self.match(DAP2Parser.GRID)
            self.state = 92
            self.match(DAP2Parser.LBRACE)
            self.state = 93
            self.match(DAP2Parser.ARRAY)
            self.state = 94
            self.declaration()
            self.state = 95
            self.match(DAP2Parser.MAPS)
            self.state = 99
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 65592) != 0):
                self.state = 96
                self.declaration()
                self.state = 101
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 102
            self.match(DAP2Parser.RBRACE)
            self.state = 103
            self.name()
            self.state = 104
            self.match(DAP2Parser.SEMI)
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
            return self.getTypedRuleContext(DAP2Parser.NameContext,0)


        def WORD(self):
            return self.getToken(DAP2Parser.WORD, 0)

    def dimension(self):

        localctx = DAP2Parser.DimensionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 12, self.RULE_dimension)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 106
            self.match(DAP2Parser.LBRACKET)
            self.state = 107
            self.name()
            self.state = 110
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==14:
                self.state = 108
                self.match(DAP2Parser.EQUAL)
                self.state = 109
                self.match(DAP2Parser.WORD)


            self.state = 112
            self.match(DAP2Parser.RBRACKET)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DasContext(RuleContext):
        __slots__ = ()

        def LBRACE(self, i:int=None):
            if i is None:
                return self.getTokens(DAP2Parser.LBRACE)
            else:
                return self.getToken(DAP2Parser.LBRACE, i)

        def RBRACE(self, i:int=None):
            if i is None:
                return self.getTokens(DAP2Parser.RBRACE)
            else:
                return self.getToken(DAP2Parser.RBRACE, i)

        def entry(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(DAP2Parser.EntryContext)
            else:
                return self.getTypedRuleContext(DAP2Parser.EntryContext,i)


    def das(self):

        localctx = DAP2Parser.DasContext(self, self._ctx, self.state)
        self.enterRule(localctx, 14, self.RULE_das)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 123
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while True:
                self.state = 114
                self.match(DAP2Parser.ATTRIBUTES)
                self.state = 115
                self.match(DAP2Parser.LBRACE)
                self.state = 119
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 98558) != 0):
                    self.state = 116
                    self.entry()
                    self.state = 121
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 122
                self.match(DAP2Parser.RBRACE)
                self.state = 125
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if not (_la==2):
                    break

            self.state = 128
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==12:
                self.state = 127
                self.match(DAP2Parser.SEMI)


            self.state = 130
            self.match(DAP2Parser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EntryContext(RuleContext):
        __slots__ = ()

        def name(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(DAP2Parser.NameContext)
            else:
                return self.getTypedRuleContext(DAP2Parser.NameContext,i)


        def LBRACE(self):
            return self.getToken(DAP2Parser.LBRACE, 0)

        def RBRACE(self):
            return self.getToken(DAP2Parser.RBRACE, 0)

        def entry(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(DAP2Parser.EntryContext)
            else:
                return self.getTypedRuleContext(DAP2Parser.EntryContext,i)


        def value(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(DAP2Parser.ValueContext)
            else:
                return self.getTypedRuleContext(DAP2Parser.ValueContext,i)


    def entry(self):

        localctx = DAP2Parser.EntryContext(self, self._ctx, self.state)
        self.enterRule(localctx, 16, self.RULE_entry)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 132
            self.name()
            self.state = 154
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [8]:
                self.state = 133
                self.match(DAP2Parser.LBRACE)
                self.state = 137
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 98558) != 0):
                    self.state = 134
                    self.entry()
                    self.state = 139
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 140
                self.match(DAP2Parser.RBRACE)
                pass
            elif token in [1, 2, 3, 4, 5, 6, 7, 15, 16]:
                self.state = 141
                self.name()
                self.state = 150
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 98558) != 0):
                    self.state = 142
                    self.value()
                    self.state = 147
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==13:
                        self.state = 143
                        self.match(DAP2Parser.COMMA)
                        self.state = 144
                        self.value()
                        self.state = 149
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)


                self.state = 152
                self.match(DAP2Parser.SEMI)
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


    class ValueContext(RuleContext):
        __slots__ = ()

        def name(self):
            return self.getTypedRuleContext(DAP2Parser.NameContext,0)


    def value(self):

        localctx = DAP2Parser.ValueContext(self, self._ctx, self.state)
        self.enterRule(localctx, 18, self.RULE_value)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 156
            self.name()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class NameContext(RuleContext):
        __slots__ = ()

        def WORD(self):
            return self.getToken(DAP2Parser.WORD, 0)

    def name(self):

        localctx = DAP2Parser.NameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 20, self.RULE_name)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 158
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 98558) != 0)):
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


