"""ncstream: a dataset as a stream of messages (contract: ncstream). `nczarr.ncstream` is the message API."""
