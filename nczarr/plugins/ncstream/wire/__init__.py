"""Byte level of ncstream: frames, protobuf messages, element types, rows, columns and deflated blocks."""
