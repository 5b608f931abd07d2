" Vim syntax file of the NCZarr notation. Made by tools/editors.py; do not change it by hand.
if exists("b:current_syntax")
  finish
endif
syntax case match

syntax match nczNumber ~\%([^ \t{}]\)\@1<![-+.@0-9][^ \t{}/]*~
syntax match nczPath ~/\%(\\.\|[^ \t{}/\"\\]\)*~
syntax match nczType ~\%([^ \t{}]\)\@1<!-\?\%(double\|string\|uint64\|ushort\|float\|int64\|short\|ubyte\|byte\|char\|uint\|int\)\%([^ \t{}/]\)\@!~
syntax match nczConstant ~\%([^ \t{}]\)\@1<!-\?\%(unlimited\|Infinity\|none\|NIL\|NaN\)\%([^ \t{}/]\)\@!~
syntax match nczProperty ~\%([^ \t{}]\)\@1<!-\?\%(quantize\|element\|chunks\|endian\|layout\|codec\|fill\|kind\)\%([^ \t{}/]\)\@!~
syntax match nczDeclaration ~\%([^ \t{}]\)\@1<!-\?\%(attribute\|dimension\|compound\|variable\|dataset\|opaque\|group\|enum\|vlen\)\%([^ \t{}/]\)\@!~
syntax match nczDeclared ~\%([^ \t{}]\)\@1<!\%(attribute\|dimension\|compound\|variable\|dataset\|opaque\|group\|enum\|vlen\)\s\+[^ \t{}]\+~ contains=nczDeclaration
syntax match nczEscape ~\\\%(x\x\x\|.\)~ contained
syntax region nczString start=~\"~ skip=~\\.~ end=~\"~ oneline contains=nczEscape,@Spell
syntax match nczComment +//.*$+ contains=@Spell

highlight default link nczNumber Number
highlight default link nczPath Type
highlight default link nczType Type
highlight default link nczConstant Constant
highlight default link nczProperty PreProc
highlight default link nczDeclaration Statement
highlight default link nczDeclared Identifier
highlight default link nczEscape SpecialChar
highlight default link nczString String
highlight default link nczComment Comment
let b:current_syntax = "ncz"
