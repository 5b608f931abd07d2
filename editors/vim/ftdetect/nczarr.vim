" CDL of netCDF, and NCZarr notation. Vim itself takes *.cdl for another language of the same name.
autocmd BufRead,BufNewFile *.cdl set filetype=cdl
autocmd BufRead,BufNewFile *.ncz set filetype=ncz
