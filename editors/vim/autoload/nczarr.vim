" Formatting of a buffer. The command is g:nczarr_command, `nczarr` by default.
function! nczarr#Format() abort
  let l:command = get(g:, "nczarr_command", "nczarr") . " fmt -"
  let l:old = getline(1, "$")
  let l:new = systemlist(l:command, l:old)
  if v:shell_error
    echohl ErrorMsg
    for l:line in l:new
      echomsg l:line
    endfor
    echohl None
    return
  endif
  if l:new !=# l:old
    let l:view = winsaveview()
    call setline(1, l:new)
    if len(l:new) < len(l:old)
      silent execute (len(l:new) + 1) . ",$delete _"
    endif
    call winrestview(l:view)
  endif
endfunction
