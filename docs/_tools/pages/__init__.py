"""Pages of the site that the package itself describes: commands, codes, formats, grammars."""
