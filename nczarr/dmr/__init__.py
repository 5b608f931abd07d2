"""Documents of DAP4 (DMR): elements of XML, declarations, attributes, and their spelling.

Shared by the formats whose metadata are such documents. Imports the tree,
array parts and diagnostics; hands on elements, scopes and constants.
"""
