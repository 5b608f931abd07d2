"""Changes of a dataset in its place: its header (`edit`), and the documents of a store (`migrate`)."""
