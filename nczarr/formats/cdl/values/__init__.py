"""Value lists and numbers of CDL: text to exact constants and array sources."""
