" Vim syntax file of CDL, the text form of netCDF. Made by tools/editors.py; do not change it by hand.
if exists("b:current_syntax")
  finish
endif
syntax case match

syntax match cdlName ~\%(/\?\%(\h\|[^\x00-\x7f]\|\\[ -~]\)\%([A-Za-z0-9_.@+%-]\|[^\x00-\x7f]\|\\.\)*\)\+~
syntax match cdlUserType ~\%([A-Za-z0-9_.@+%\\-]\|[^\x00-\x7f]\)\@1<!\%(\h\|[^\x00-\x7f]\|\\[ -~]\)\%([A-Za-z0-9_.@+%-]\|[^\x00-\x7f]\|\\.\)*\ze\s\+\%(\h\|[^\x00-\x7f]\|\\[ -~]\)\%([A-Za-z0-9_.@+%-]\|[^\x00-\x7f]\|\\.\)*~
syntax match cdlNumber ~[+-]\?\%(\d\+\.\?\d*\|\.\d\+\)\%([eE][+-]\?\d\+\)\?\a*~
syntax match cdlNumber ~0[xX]\x\+[sSlL]*~
syntax match cdlType ~\%([A-Za-z0-9_.@+%\\-]\|[^\x00-\x7f]\)\@1<!\%(uinteger\|integer\|double\|string\|uint64\|ushort\|float\|int64\|short\|ubyte\|ulong\|byte\|char\|long\|real\|uint\|int\)\%([A-Za-z0-9_.@+%\\-]\|[^\x00-\x7f]\)\@!~
syntax match cdlDeclaration ~\%([A-Za-z0-9_.@+%\\-]\|[^\x00-\x7f]\)\@1<!\%(structure\|compound\|NETCDF\|netCDF\|netcdf\|opaque\|struct\|enum\)\%([A-Za-z0-9_.@+%\\-]\|[^\x00-\x7f]\)\@!~
syntax match cdlConstant ~\%([A-Za-z0-9_.@+%\\-]\|[^\x00-\x7f]\)\@1<!-\?\%(DoubleInf\|Infinityf\|UNLIMITED\|unlimited\|FloatInf\|Infinity\|Inff\|NaNf\|nanf\|NIL\|NaN\|Nil\|nan\|nil\|_\)\%([A-Za-z0-9_.@+%\\-]\|[^\x00-\x7f]\)\@!~
syntax match cdlAttribute ~:\s*\zs\%(\h\|[^\x00-\x7f]\|\\[ -~]\)\%([A-Za-z0-9_.@+%-]\|[^\x00-\x7f]\|\\.\)*~
syntax match cdlSpecial ~:\s*\zs\%(_QuantizeGranularBitRoundNumberOfSignificantDigits\|_QuantizeBitGroomNumberOfSignificantDigits\|_QuantizeBitRoundNumberOfSignificantDigits\|_QuantizeBitRoundNumberOfSignificantBits\|_SuperblockVersion\|_ChunkLengths\|_DeflateLevel\|_NCProperties\|_ChunkSizes\|_Endianness\|_Fletcher32\|_FillValue\|_IsNetcdf4\|_Shuffle\|_Storage\|_Codecs\|_Filter\|_Format\|_NoFill\)\%([A-Za-z0-9_.@+%\\-]\|[^\x00-\x7f]\)\@!~
syntax match cdlSection ~\%([A-Za-z0-9_.@+%\\-]\|[^\x00-\x7f]\)\@1<!\%(dimensions\|variables\|group\|types\|data\):\%(\%(\h\|[^\x00-\x7f]\|\\[ -~]\)\%([A-Za-z0-9_.@+%-]\|[^\x00-\x7f]\|\\.\)*\s*==\@!\)\@!~
syntax match cdlHeader ~^\s*\%(netcdf\|NETCDF\|netCDF\)\s[^{]*~ contains=cdlNetcdf
syntax match cdlNetcdf ~\%(netcdf\|NETCDF\|netCDF\)~ contained
syntax match cdlEscape ~\\\%(x\x\x\|\o\{1,3}\|.\)~ contained
syntax region cdlString start=~\"~ skip=~\\.~ end=~\"~ contains=cdlEscape,@Spell
syntax match cdlCharacter ~'\%([^'\\]\|\\.\)*'~ contains=cdlEscape
syntax match cdlComment +//.*$+ contains=@Spell
syntax region cdlComment start=+/\*+ end=+\*/+ contains=@Spell

highlight default link cdlUserType Type
highlight default link cdlNumber Number
highlight default link cdlType Type
highlight default link cdlDeclaration StorageClass
highlight default link cdlConstant Constant
highlight default link cdlAttribute Identifier
highlight default link cdlSpecial PreProc
highlight default link cdlSection Statement
highlight default link cdlHeader Title
highlight default link cdlNetcdf Statement
highlight default link cdlEscape SpecialChar
highlight default link cdlString String
highlight default link cdlCharacter Character
highlight default link cdlComment Comment
let b:current_syntax = "cdl"
