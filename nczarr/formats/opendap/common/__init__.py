"""OPeNDAP: the parts that its formats share.

Documents of DAP4 (elements of XML, declarations, attributes, their spelling)
and the layout of values in responses. Imports the tree, arrays and
diagnostics; hands on elements, scopes, constants and arrays.
"""
