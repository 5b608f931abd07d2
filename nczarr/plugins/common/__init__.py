"""Room of modules that several plugins share, and the compiler does not need. It imports no plugin."""
