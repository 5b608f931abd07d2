"""One folder a format; `ls` answers what can be read and written. Nothing here is imported by name from elsewhere."""
