"""Codecs that are only read, and that few stores have."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "rare_codecs",
    "codecs that are only read, and that few stores have",
    codecs={
        "crc32": "nczarr.plugins.rare_codecs.numcodecs_filters:CRC32",
        "adler32": "nczarr.plugins.rare_codecs.numcodecs_filters:ADLER32",
        "jenkins_lookup3": "nczarr.plugins.rare_codecs.numcodecs_filters:JENKINS_LOOKUP3",
        "base64": "nczarr.plugins.rare_codecs.numcodecs_filters:BASE64",
        "bitround": "nczarr.plugins.rare_codecs.numcodecs_filters:BITROUND",
        "packbits": "nczarr.plugins.rare_codecs.numcodecs_filters:PACKBITS",
        "delta": "nczarr.plugins.rare_codecs.numcodecs_filters:DELTA",
        "fixedscaleoffset": "nczarr.plugins.rare_codecs.numcodecs_filters:FIXEDSCALEOFFSET",
        "quantize": "nczarr.plugins.rare_codecs.numcodecs_filters:QUANTIZE",
        "astype": "nczarr.plugins.rare_codecs.numcodecs_filters:ASTYPE",
        "zfpy": "nczarr.plugins.rare_codecs.numcodecs_filters:ZFPY",
        "pcodec": "nczarr.plugins.rare_codecs.numcodecs_filters:PCODEC",
        "cast_value": "nczarr.plugins.rare_codecs.arithmetic:CAST_VALUE",
        "scale_offset": "nczarr.plugins.rare_codecs.arithmetic:SCALE_OFFSET",
        "categorize": "nczarr.plugins.rare_codecs.texts:CATEGORIZE",
        "json2": "nczarr.plugins.rare_codecs.texts:JSON2",
        "msgpack2": "nczarr.plugins.rare_codecs.texts:MSGPACK2",
    },
)
