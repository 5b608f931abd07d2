"""ncstream as bytes: frames, protobuf messages, element types, rows, columns and deflated blocks."""
