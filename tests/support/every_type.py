"""A dataset with every type, as CDL."""

from __future__ import annotations

CDL = """netcdf d {
types: byte enum flag { NO = 0, YES = 1 } ; opaque(3) key ; float(*) row ; row(*) rows ; string(*) words ;
  compound pt { int x ; double y(2) ; char c(2) ; flag f ; } ; pt(*) pts ;
  compound deep { pt p ; pt q(2) ; short s ; } ;
  compound ev { int id ; row w ; string t(2) ; pt p(2) ; } ;
dimensions: n = 3 ; m = 2 ; time = unlimited ; none = unlimited ;
variables:
  int i(n, m) ; i:_FillValue = -1 ; i:units = "K" ; double scalar ; char c(n, m) ; string s(n) ; string s2(m, n) ;
  flag e(n) ; key k(m) ; pt p(n) ; deep d(m) ; row r(n) ; row r2(n, m) ; rows rr(n) ; words w(n) ; pts pp(n) ; ev v(m) ;
  ushort never(time) ; float empty(none, n) ; uint64 lng(time) ; lng:_Endianness = "big" ;
  :title = "all\\000" ;
data:
  i = 1, 2, _, 4, 5, 6 ; scalar = NaN ; c = "ab", "c", "" ; s = "one", NIL, "" ; s2 = "a", "", "b\\xff", "c", "d", "e" ;
  e = YES, NO, YES ; k = 0X010203, 0X040506 ;
  p = {1, {1, 2}, "xy", YES}, {2, {3, 4}, "z", NO}, {3, {5, 6}, "", YES} ;
  d = {{1, {1, 2}, "xy", YES}, {{2, {3, 4}, "z", NO}, {3, {5, 6}, "", YES}}, 7},
      {{1, {1, 2}, "xy", YES}, {{2, {3, 4}, "z", NO}, {3, {5, 6}, "", YES}}, 8} ;
  r = {1, 2}, {}, {3} ; r2 = {1}, {}, {2, 3}, {}, {}, {4} ; rr = {{1}, {}}, {}, {{2, 3}} ;
  w = {"a", "bb"}, {}, {NIL, ""} ; pp = {{1, {1, 2}, "xy", YES}}, {}, {} ;
  v = {1, {1, 2}, {"a", "b"}, {{1, {1, 2}, "xy", YES}, {2, {1, 2}, "xy", NO}}},
      {2, {}, {"", "c"}, {{1, {1, 2}, "xy", YES}, {2, {1, 2}, "xy", NO}}} ;
  lng = 1, 2, 3 ;
}"""
