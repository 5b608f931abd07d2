" Comments, and formatting by `gq` and `:%!nczarr fmt -`.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal commentstring=//\ %s
setlocal comments=://
setlocal formatoptions-=t
if executable("nczarr")
  let &l:formatprg = "nczarr fmt -"
endif
let b:undo_ftplugin = "setlocal commentstring< comments< formatoptions< formatprg<"
