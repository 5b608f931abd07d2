"""Reference documents rewritten and verified: the commands `refs`, and the module `nczarr.refs`."""
