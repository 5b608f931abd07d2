"""Tables of pages about plugins, one module for each: what stands at a mark of its page."""
