"""Edits of DMR++ documents in their place: what OPeNDAP and the plugin `edit` make together."""
