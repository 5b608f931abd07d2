" Comments, and :NczarrFormat for the buffer. A part of a text cannot be formatted, so `gq` stays Vim's own.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal commentstring=//\ %s
setlocal comments=://
setlocal formatoptions-=t
command! -buffer NczarrFormat call nczarr#Format()
let b:undo_ftplugin = "setlocal commentstring< comments< formatoptions< | delcommand -buffer NczarrFormat"
