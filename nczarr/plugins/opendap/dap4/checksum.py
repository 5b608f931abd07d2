"""CRC-32 of the values in answers of DAP4."""


def crc32(data: bytes | memoryview, before: int = 0) -> int:
    """Return the CRC-32 of bytes that follow others; `before`: CRC-32 of those."""
    from zlib_ng import zlib_ng

    checksum: int = zlib_ng.crc32(data, before)
    return checksum
