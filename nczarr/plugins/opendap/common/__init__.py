"""OPeNDAP: the parts that its formats share.

Words of types and texts, documents of DAP4 (elements of XML, declarations, attributes) and the layout of values, packed
or not. Imports the tree, arrays and diagnostics; hands on elements, scopes, constants and arrays.
"""
