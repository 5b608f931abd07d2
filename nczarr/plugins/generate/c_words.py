"""Words that identifiers of programs in C cannot be."""

import re

RESERVED = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true "
    "false main errno stdin stdout stderr ncid path status made values fill start count size_t ptrdiff_t NULL NAN "
    "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t ids groups varid dimensions y0 y1 yn j0 j1 jn "
    "gamma index time div exp log pow sin cos tan abs remove rename signal types CHECK linux unix BUFSIZ EOF FILE "
    "FILENAME_MAX FOPEN_MAX TMP_MAX HUGE_VAL HUGE_VALF HUGE_VALL DIM_WITHOUT_VARIABLE MSC_EXTRA INFINITY "
    "math_errhandling "
    "size ptrdiff wchar max_align off ssize fpos clock int8 int16 int32 int64 intptr uint8 uint16 uint32 uint64 "
    "uintptr intmax uintmax".split()
)
"""Words of C, names of its library that compilers warn of, those of our functions, and types without their `_t`."""

MACROS = re.compile(
    r"(?:NC|NC2|NC4|nc|FILL|MAX|FP|M|MATH|SEEK|L|P)_|E(?:"
    r"2BIG|ACCES|ADDRINUSE|ADDRNOTAVAIL|ADV|AFNOSUPPORT|AGAIN|ALREADY|BADE|BADF|BADFD|BADMSG|"
    r"BADR|BADRQC|BADSLT|BFONT|BUSY|CANCELED|CHILD|CHRNG|COMM|CONNABORTED|CONNREFUSED|"
    r"CONNRESET|DEADLK|DEADLOCK|DESTADDRREQ|DOM|DOTDOT|DQUOT|EXIST|FAULT|FBIG|HOSTDOWN|"
    r"HOSTUNREACH|HWPOISON|IDRM|ILSEQ|INPROGRESS|INTR|INVAL|IO|ISCONN|ISDIR|ISNAM|KEYEXPIRED|"
    r"KEYREJECTED|KEYREVOKED|L2HLT|L2NSYNC|L3HLT|L3RST|LIBACC|LIBBAD|LIBEXEC|LIBMAX|LIBSCN|"
    r"LNRNG|LOOP|MEDIUMTYPE|MFILE|MLINK|MSGSIZE|MULTIHOP|NAMETOOLONG|NAVAIL|NETDOWN|NETRESET|"
    r"NETUNREACH|NFILE|NOANO|NOBUFS|NOCSI|NODATA|NODEV|NOENT|NOEXEC|NOKEY|NOLCK|NOLINK|"
    r"NOMEDIUM|NOMEM|NOMSG|NONET|NOPKG|NOPROTOOPT|NOSPC|NOSR|NOSTR|NOSYS|NOTBLK|NOTCONN|"
    r"NOTDIR|NOTEMPTY|NOTNAM|NOTRECOVERABLE|NOTSOCK|NOTSUP|NOTTY|NOTUNIQ|NXIO|OF|OPNOTSUPP|"
    r"OVERFLOW|OWNERDEAD|PERM|PFNOSUPPORT|PIPE|PROTO|PROTONOSUPPORT|PROTOTYPE|RANGE|REMCHG|"
    r"REMOTE|REMOTEIO|RESTART|RFKILL|ROFS|SHUTDOWN|SOCKTNOSUPPORT|SPIPE|SRCH|SRMNT|STALE|"
    r"STRPIPE|TIME|TIMEDOUT|TOOMANYREFS|TXTBSY|UCLEAN|UNATCH|USERS|WOULDBLOCK|XDEV|XFULL|XTERNL"
    r")(?:_|$)"
)
"""Beginnings of names of macros in headers of C and libnetcdf; names of error numbers."""
