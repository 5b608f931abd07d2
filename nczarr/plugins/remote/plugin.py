"""Remote places: URLs of all protocols without places of their own."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "remote",
    "URLs: buckets, web servers and other places behind fsspec",
    places={"*": "nczarr.plugins.remote.places:PLACES"},
    extras={"aiohttp": "remote", "fsspec": "remote", "s3fs": "remote"},
)
